// The texts of scripts in the language of the page. Without a block of texts in the page they are English.
const block = document.getElementById("texts");
const { texts = {}, forms = {} } = block ? JSON.parse(block.textContent) : {};

const fill = (text, fields) => text.replace(/\{(\w+)\}/g, (all, name) => (name in fields ? fields[name] : all));

export const _ = (text, fields = {}) => fill(texts[text] ?? text, fields);

// One of two texts by a number. Other languages have more forms: the page says which one 0 to 199 have.
export function ngettext(one, many, n, fields = {}) {
  const [shown, which] = forms[many] ?? [[one, many], []];
  return fill(shown[which[n < 200 ? n : 100 + (n % 100)] ?? Number(n !== 1)], { n, ...fields });
}
