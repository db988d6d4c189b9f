"""Which documents seem not to be English. The texts are invented."""

import pytest

from inverse_deid.lexicon import load_lexicon
from inverse_deid.rules.analysis import RuleAnalyser
from inverse_deid.text.interning import InternedWords
from inverse_deid.text.tokenizer import tokenize

OTHER = {
    "spanish": "La paciente acudió a urgencias por dolor en el pecho después de tomar el medicamento. No tenía fiebre "
    "y la tensión era normal. Se suspendió el tratamiento y los síntomas desaparecieron en dos días.",
    "german": "Der Patient wurde mit starken Schmerzen in der Brust aufgenommen und bekam sofort Aspirin. Die "
    "Untersuchung zeigte keine neuen Befunde, der Blutdruck war normal und die Atmung ruhig geworden, so dass er "
    "nach drei Tagen wieder nach Hause gehen konnte.",
    "french": "Le patient a été admis aux urgences pour une douleur intense apparue après la prise du médicament. Il "
    "ne présente pas de fièvre et la tension est normale. Le traitement a été arrêté hier.",
    "french in capitals": "LE PATIENT NE PRESENTE PAS DE FIEVRE ET LA TENSION EST NORMALE DEPUIS HIER SOIR APRES LA "
    "PRISE DU MEDICAMENT ET LE TRAITEMENT A ETE ARRETE POUR DES DOULEURS",
    "italian": "Il paziente è stato ricoverato per dolore al torace dopo la somministrazione del farmaco. La pressione "
    "era nella norma e non aveva febbre. La terapia è stata sospesa e i sintomi sono scomparsi.",
    "a spanish sentence": "El paciente presentó fiebre y exantema por todo el cuerpo.",
    "a german sentence": "Der Patient bekam nach der zweiten Impfung plötzlich hohes Fieber.",
    "a german sentence with an English word": "Die Patientin erhielt am 12.03.2021 Ibuprofen und bekam einen "
    "Hautausschlag.",
    "a french sentence with English words": "On a arrêté le traitement sans attendre.",
    "russian": "Пациент поступил с болью в груди после приёма лекарства.",
    "korean": "환자는 약을 복용한 후 가슴 통증으로 응급실에 왔습니다. 열은 없었고 혈압은 정상이었다.",
}
ENGLISH = {
    "prose": "The patient was admitted with chest pain after he took the first tablet. He had no fever and his blood "
    "pressure was normal. The treatment was stopped and he recovered within two days.",
    "telegraphic": "pt recv vax & devel rash, fever, HA, n/v; tx w/ benadryl, tylenol; sx resolved, f/u w/ PCP; PMH "
    "HTN, DM2, asthma; meds metformin, lisinopril, albuterol; NKDA; exam nl, lungs clear, abd soft",
    "abbreviations": "BP HR RR SpO2 WBC HGB PLT CRP ESR ALT AST ALP BILI CREA eGFR TSH HbA1c LDL HDL INR PT APTT CT MRI "
    "ECG CXR MI CHF COPD DVT PE UTI GERD",
    "table": "Hb 12.1 11.8 11.2\nWBC 7.1 6.8 9.9\nPlt 212 240 198\nNa 138 141 139\nK 4.2 4.4 3.9\nCrea 81 77 92\n"
    "ALT 22 31 45\nAST 19 24 38\nCRP 2 11 44\nTSH 2.2 1.9 2.4",
    "names": "Okonkwo Lindqvist Abernathy Vasquez Thorne Chipo Ingrid Piotr Amara Nwosu Halvorsen Petrakis Rhys Bashir "
    "Kowalski Nakamura Oyelaran Svensson Dubois Moreau Castellano Ferreira Haddad",
    "drugs": "metoprolol, ramipril, atorvastatin, amlodipine, apixaban, pantoprazole, levothyroxine, metformin, "
    "empagliflozin, salbutamol, tiotropium, prednisolone, alendronate, colecalciferol, paracetamol, codeine, "
    "morphine, senna, macrogol, ondansetron, cyclizine",
    "a sentence of notes": "Pt c/o SOB, dizzy; hx afib, tx w/ metoprolol.",
    "short": "Fiebre y tos desde ayer.",
    "nothing": " ... ",
    "capitals": "PT HAD SEVERE PAIN AND SWELLING IN THE LEFT ARM. NO FEVER. SEEN IN ER, GIVEN BENADRYL AND SENT HOME.",
}


@pytest.fixture(scope="module")
def analyser():
    return RuleAnalyser(load_lexicon(), InternedWords())


@pytest.mark.parametrize("name", OTHER)
def test_other_languages_are_named(analyser, name):
    assert analyser.analyse(tokenize(OTHER[name])).other_language


@pytest.mark.parametrize("name", ENGLISH)
def test_english_tables_and_short_texts_are_not(analyser, name):
    assert not analyser.analyse(tokenize(ENGLISH[name])).other_language


def test_each_document_of_a_batch_is_judged_alone(analyser):
    texts = [*OTHER.values(), *ENGLISH.values()]
    found = [one.other_language for one in analyser.analyse_many([tokenize(text) for text in texts])]
    assert found == [True] * len(OTHER) + [False] * len(ENGLISH)
