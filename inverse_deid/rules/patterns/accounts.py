"""Patterns of what a person has on computers: paths, hosts, files, accounts, and words in a code.

All are silent vetoes (see `patterns.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from inverse_deid.core.phi import HyperClass
from inverse_deid.rules.patterns.anchors import (
    ANY_WORD,
    SPACES,
    Anchor,
    any_of,
    begin_phrases,
    compile_patterns,
    within,
)

_IN_PATH = r"[^\s\\/:*?\"<>|,;]"
_FILE_END = any_of(
    """docx? xlsx? xlsm odt ods pdf txt csv tsv jpe?g png gif heic tiff? bmp zip rar 7z tar gz eml msg rtf pptx? log bak mp[34] mov
    wav m4a avi dcm html? xml json ya?ml db sqlite pst ost exe sh bat py ini cfg conf key pem lnk tmp"""
)
_HOST_END = any_of(
    "local lan internal intranet intra corp home localdomain localhost arpa onion test invalid domain private"
)
_MACHINES = """
    pc laptop notebook macbook imac mac desktop iphone ipad phone tablet server srv nas printer router wifi workstation ws host dell
    thinkpad pixel galaxy kindle watch vm
"""
_MACHINE_LABELS = """
    host hostname host_name computer computer_name workstation printer server ssid wi-?fi wi-?fi_network hotspot bluetooth
    bluetooth_name network_name mailbox folder directory login_shell home_dir home_directory share mapped_drive machine
    machine_name device_name laptop vm
"""
_FOLDERS = any_of(
    """home users? var etc mnt srv data tmp media export volumes opt root usr mail spool share nas net run private storage sdcard
    documents desktop downloads archive backup scans? cases? patients? reports? notes? files?"""
)

_SITES = """
    gmail hotmail yahoo icloud instagram insta twitter facebook fb skype telegram whats_?app snap_?chat tik_?tok
    linkedin wechat viber discord reddit twitch steam psn playstation xbox nintendo gamertag mumsnet netmums patientslikeme
    health_?unlocked mastodon bluesky kakao kakaotalk vk pinterest tumblr you_?tube quora tinder grindr bumble hinge strava fitbit
    garmin github slack zoom messenger imessage facetime onlyfans roblox minecraft fortnite ebay etsy venmo paypal cash_?app
    duolingo forum threads
"""
_ACCOUNTS = """
    user_?-?names? user_?-?ids? screen_?-?names? handles? gamer_?-?tags? log-?in log-?in_name log-?in_id log-?on account_name account_id
    display_name profile_name call_?sign uid psn_id epic_id steam_id friend_code
"""
_ACTS = """
    posts? posted posting signs?_(?:in|up) signed_(?:in|up|on) logs? logged logging writes? writing wrote streams? streaming plays? playing
    tweets? tweeted comments? commented goes going messages? messaged chats? chatting registered_on appears?_on known_on known_online
"""
_BETWEEN_ACT_AND_NAME = (
    r"(?:\s(?:in|on|up|there|online|in\son|on\s[\w-]{2,14}|in\sthe\s(?:app|forum|portal|game)))?\s(?:as|under|by)"
    r"(?:\sthe\s(?:name|handle|nick(?:name)?|alias|user\s?name))?"
)
_NO_USER_AFTER_ACT = any_of(
    """a an the if well soon required needed directed prescribed usual before follows? possible normal expected planned phone
    telephone e-?mail text mail letter hand post per being having (?:un)?related serious non-?serious possibly probably mrs? ms dr miss"""
)
_NO_USER = any_of(
    """the where that she he a an is was and to in on for with about of from at has had or by after before who post page group
    account message call video app forum user not unknown none locked blocked disabled failed required expired error no"""
)
_USER = r"[@\"'“‘]?([^\W_][\w.+:#/-]{1,40}[^\W_]|[^\W_][\w.+:#/-]{0,40}\d)"
_WORD_OF_ACCOUNT = any_of(
    "name account user handle id address profile page channel tag nick login as is under called by"
)

_SITE_WORD = any_of(
    "forum reddit discord instagram insta twitter facebook snap_?chat tik_?tok telegram wechat twitch mumsnet netmums youtube mastodon bluesky tumblr patientslikeme"
)
_NO_USER_AFTER_NOUN = any_of(
    """writes? wrote says? said describes? described reports? reported reporting posts? posted posting claims? claimed tells? told thinks? asked asks has had
    have who which shows? showed mentions? mentioned complained complains takes? took got gets felt feels name names id ids handle user member poster page
    profile channel video videos story stories comment comments review reviews discussion topic thread threads website site web app address login password
    prompt screen button form data attempt attempts error errors details credentials use usage review support advice search searches image images"""
)

VETOES = compile_patterns(
    {
        "windows-path": rf"(?<!\w)[A-Z]:[\\/]{{1,2}}{_IN_PATH}+"
        rf"(?:[\\/]+(?:{_IN_PATH}+(?:\s{_IN_PATH}+(?=[\\/]|\.{_FILE_END}\b)){{0,3}})?)*",
        "network-path": r"(?<![\w\\])\\\\[^\s\\]+(?:\\[^\s\\\"<>|]*(?:\s[^\s\\\"<>|]+(?=\\)){0,3})*",
        "part-of-path": r"(?<![\w\\])[\w.$%~-]{1,60}(?:\\[\w.$%~-]{1,60})+\\?",
        "unix-path": rf"(?<![\w/.])~?\.{{0,2}}/{_FOLDERS}(?:/[^\s\"'<>|,;)]*)+|(?<![\w/~])~[a-z][\w.-]*(?:/[^\s\"'<>|,;)]+)*",
        "address-with-scheme": r"\b[a-z][a-z0-9]{1,15}://\S+|"
        r"\b(?:mailto|sips?|xmpp|callto|facetime|skype|live|urn|msteams|ssh|scp|rsync|git):(?!\s)\S+",
        "cloud-path": rf"\b(?:OneDrive|Dropbox|i?Cloud(?:\sDrive)?|Google\sDrive|GDrive|SharePoint|Nextcloud|Teams)\b(?:[ \w.'’-]{{0,40}}/[ \w.'’-]{{1,40}}){{1,8}}?\.{_FILE_END}\b|"
        r"\b(?:OneDrive|Dropbox|iCloud|GDrive|SharePoint|Nextcloud)\S*(?:/[^\s/]+)+",
        "short-address": r"(?<![\w.@-])[\w-]+(?:\.[\w-]+){0,3}\.(?:me|ly|gg|tv|be|gl|co|ai|app|dev|link|page|site|online|xyz|ru|cn|jp|br|nl|se|no|dk|fi|pl|es|it|fr|de|eu|ca|au|nz|ie|ch|at|us)/\S+",
        "host-name": rf"(?<![\w.@-])[\w-]+(?:\.[\w-]+){{0,5}}\.{_HOST_END}(?![\w-])",
        "name-of-machine": rf"(?<![\w.@-])(?=[\w-]*[^\W\d_])[\w’']{{2,20}}-{any_of(_MACHINES)}(?:-?\d{{1,4}})?(?![\w-])|"
        r"(?<![\w.@-])(?-i:DESKTOP|LAPTOP|PC|WS|SRV|HOST|VM|WKS|NB|WIN|MAC)-(?=\w*\d|\w{5,})\w[\w-]*",
        "user-at-host": r"(?<![\w.+-])(?!\d+(?:[.,]\d+)?(?:mg|mcg|ml|g|l|units?|iu|puffs?|tabs?|x)\b)(?=[\w.+-]*[^\W\d_])[\w.+-]{2,}@"
        r"(?!(?:\d|bed|night|noon|home|rest|ra|work|school|hs|least|once|the|time|present|baseline|discharge|admission|bedtime|breakfast|lunch|dinner|dose|onset|time|clinic|hospital|er|ed|ward)\b)"
        r"[\w-]*[^\W\d_][\w.-]*(?::\S*)?",
        "machine-after-label": rf"\b{any_of(_MACHINE_LABELS)}(?:\s?[:=]\s?|\s(?:(?:is|was)\s)?(?:called|named)\s)[\"'“]?"
        r"(\w[\w.$\\/’'-]{1,60}[\w$])",
        "file-name": rf"(?<![\w/\\.])(?=[\w.-]{{0,60}}[^\W\d_])[\w()+&-]{{1,60}}(?:\.[\w()+&-]{{1,60}}){{0,4}}\.{_FILE_END}(?![\w-]|\.\w)",
        "user-after-label": rf"\b{any_of(_ACCOUNTS)}(?:\s(?:on|for|at|in)\s(?:the\s)?[\w-]{{2,16}})?"
        r"(?:\s?[:=]{1,2}\s?|\s(?:is|was|of|as)\s(?:called\s|now\s)?|\s(?=[@\"'“])|[,(]?\s?(?=\S{0,30}(?:[\d_@]|\.\w)))"
        rf"(?!{_NO_USER}\b|\d+(?:[.,]\d+)?\b){_USER}",
        "user-after-act": rf"\b{any_of(_ACTS)}{_BETWEEN_ACT_AND_NAME}\s(?!{_NO_USER_AFTER_ACT}\b){_USER}",
        "user-of-site": rf"\b{any_of(_SITES)}\b(?:\s{_WORD_OF_ACCOUNT}\b){{0,3}}[\s,:;=(@\"'“/–-]{{1,4}}(?!{_NO_USER}\b){_USER}",
        "user-of-messenger": r"\b(?-i:LINE|KIK|Kik|Signal|Threema|Zalo|QQ)\s?[,:(@]\s?(?!(?:the|and|or|no|not|which|who|he|she|it)\b)([^\W_][\w.-]{2,30})",
        "user-who-signs": r"\bsigns?\s(?:(?:his|her|their|the|my|all)\s){0,2}(?:posts?|messages?|e-?mails?|comments?|reviews?)\s(?:(?:as|with|off)\s){0,2}([\w.-]{3,30})",
        "user-who-acts": r"\b(?<!drug )(?<!alcohol )(?<!tobacco )user\s([^\W\d_][\w.-]{2,30})\s(?:closed|opened|logged|edited|created|posted|wrote|replied|deleted|updated|reported|signed|entered|changed|locked|approved)\b",
        "user-with-sign": r"(?<![\w/.])(?-i:u|user)/(?=\w*[^\W\d_])[\w-]{3,30}|(?<![\w@.])(?=\w*[^\W\d_])\w{2,30}#\d{3,5}(?!\w)|"
        r"(?<!\w)_+[^\W_]\w+_+(?!\w)",
        "user-with-underscore": r"(?<![\w.@-])(?!\w*\d_?(?:mg|mcg|g|ml|iu|units?|tabs?|caps?|puffs?)(?:_|\b))(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+_\w+",
        "user-between-words": r"\b(?:from|by|to|of|user|for|named|called|as)\s[\"“]?((?-i:[a-z]{2,20}_[a-z]\w{1,20}))(?!\w)",
        "user-after-noun": rf"\b(?:user-?\s?name|screen-?\s?name|gamer-?\s?tag|nick(?:name)?|avatar|log-?in|user\sid|(?<=her\s)handle|(?<=his\s)handle|(?<=my\s)handle|(?<=their\s)handle|"
        rf"{_SITE_WORD}\s(?:handle|user|member|poster|nick|name)|blogger|vlogger|youtuber|influencer|streamer|redditor|instagrammer|tiktoker|tweeter|commenter|(?-i:IG|FB|YT|TT|X)\shandle)"
        rf"(?![^\W_])\s?[,:(]?\s?(?!{_NO_USER}\b|{_NO_USER_AFTER_NOUN}\b)[@\"'“‘]?([^\W\d_][\w.-]{{2,40}})",
        "user-beside-site": rf"\b{_SITE_WORD}(?:\s?[,:(]\s?|\s)(?!{_NO_USER}\b|{_NO_USER_AFTER_NOUN}\b)([^\W\d_][\w.-]{{2,40}})(?=\s?(?:[.;)\n]|\Z)|\s(?-i:[A-Z]))",
        "user-of-short-site": r"\b(?-i:IG|FB|YT|TT)[\s:,@]{1,3}((?-i:[a-z](?=[a-z]{0,30}[._\d])[\w.-]{2,40}))",
        "profile-path": r"\b(?:linkedin|fb|facebook|xing|orcid|behance)[\s:./]{1,3}(?:(?:in|profile|pg|people|com)/)+[\w.%-]{2,60}|(?<![\w.])/u/[\w-]{3,30}|(?<![\w.])@(?=[^\W\d_])\w+(?:[.-]\w+)+",
        "mail-folder": r"\b(?:Inbox|Sent(?:\sItems)?|Drafts|Outbox|Archive|Junk|Trash|Deleted\sItems)[/\\>][\w.'’-]{1,40}(?:\s[\w.'’-]{1,40})?(?=[/\\>])(?:[/\\>]\S*)?",
        "machine-by-ending": r"(?<![\w.@-])(?!desktop|laptop)[^\W\d_]{3,15}(?:pc|laptop|macbook|imac|ipad|iphone|desktop|workstation)(?:-?\d{1,3})?(?![\w-])",
        "two-disguised-words": r"(?<![\w.-])(?-i:(?=\w{0,14}[A-Za-z]\d{1,4}[a-z])[A-Z0-9][A-Za-z0-9]{2,14}\s(?=\w{0,14}[A-Za-z]\d{1,4}[a-z])[A-Z0-9][A-Za-z0-9]{2,14})(?![\w-])",
        "foreign-domain": r"\bxn--[\w-]+",
        "backwards": r"\b(?:backwards?|reversed?|mirrored|in\sreverse|right\sto\sleft|anagram)(?:\s?[:=]\s?|\s)((?=[^\W\d_]*(?-i:[A-Z])\b)[^\W\d_]{3,20}(?:\s[^\W\d_]*(?-i:[A-Z])\b)?)",
        "hexadecimal": r"(?<![\w+/=-])(?:[46][1-9a-f]|[57][0-9a]|20|2[c-e]|3\d){4,}(?!\w)",
        "base-64": r"(?<![\w+/=-])(?-i:(?=[A-Za-z0-9+/]{0,60}[a-z])(?=[A-Za-z0-9+/]{0,60}[A-Z])(?=[A-Za-z+/]{0,60}\d)"
        r"(?:[A-Za-z0-9]{12,}|[A-Za-z0-9+/]{20,})={0,2}(?!\w)|[A-Za-z0-9][A-Za-z0-9+/_-]{5,}={1,6}(?![\w=]))",
        "scrambled": r"(?<!\S)(?!\S{0,200}(?:://|@|</?[a-z]+>))(?-i:(?=\S{0,60}[a-z])(?=\S{0,60}[A-Z])(?=\S{0,60}\d)"
        r"(?=(?:\S{0,40}?[~^|{}$\\`<>]){2}))\S{10,80}|"
        r"(?<!\S)(?!\S{0,200}(?:://|</?[a-z]+>))(?-i:(?=\S{0,60}[A-Z])(?=\S{0,60}\d)(?=(?:\S{0,40}?[~^|{}$\\`<>@&%#*!]){4}))\S{10,80}",
        "series-of-codes": r"(?<![\w.,/-])(?:(?:0x)?[0-9a-f]{2}(?:[ ,:;-]{1,2}0x[0-9a-f]{2}){3,}|(?:[46][1-9a-f]|[57][0-9a]|20)"
        r"(?:[ :-](?:[46][1-9a-f]|[57][0-9a]|20)){3,}|[01]{7,8}(?:\s[01]{7,8})+|"
        r"(?:32|39|4[4-6]|6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2])(?:[ ,-]{1,2}(?:32|39|4[4-6]|6[5-9]|[78]\d|90|9[7-9]|1[01]\d|12[0-2])){3,}"
        r"(?<=[01]\d\d))(?![\w/]|[.,-]\d)",
    }
)
"""Paths, hosts, files, accounts and encoded words."""

ANCHORS: Mapping[str, Sequence[Anchor]] = MappingProxyType(
    {
        "windows-path": [Anchor(r"[A-Z]\Z", behind=":")],
        "network-path": [within(ANY_WORD, before="\\")],
        "part-of-path": [within(ANY_WORD, before="\\")],
        "unix-path": [within(ANY_WORD, before="~"), within(rf"{_FOLDERS}\Z", before="/", behind="/")],
        "address-with-scheme": [Anchor(ANY_WORD, behind=":")],
        "cloud-path": [Anchor(r"(?:onedrive|dropbox|i?cloud|google|gdrive|sharepoint|nextcloud|teams)\Z")],
        "short-address": [
            within(
                r"(?:me|ly|gg|tv|be|gl|co|ai|app|dev|link|page|site|online|xyz|ru|cn|jp|br|nl|se|no|dk|fi|pl|es|it|fr|de|eu|ca|au|nz|ie|ch|at|us)\Z",
                before=".",
                behind="/",
            )
        ],
        "host-name": [within(rf"{_HOST_END}\Z", before=".")],
        "name-of-machine": [
            within(any_of(_MACHINES) + r"\d{0,4}\Z", before="-"),
            Anchor(
                r"(?:DESKTOP|LAPTOP|PC|WS|SRV|HOST|VM|WKS|NB|WIN|MAC)\Z", behind="-", begins=False, cased=True
            ),
        ],
        "user-at-host": [],
        "machine-after-label": begin_phrases(_MACHINE_LABELS),
        "file-name": [within(rf"{_FILE_END}\Z", before=".")],
        "user-after-label": begin_phrases(_ACCOUNTS),
        "user-after-act": begin_phrases(_ACTS, then=r"(?:in|on|up|there|online|as|under|by)\Z"),
        "user-of-site": begin_phrases(_SITES),
        "user-of-messenger": [Anchor(r"(?:LINE|KIK|Kik|Signal|Threema|Zalo|QQ)\Z", cased=True)],
        "user-who-signs": [Anchor(r"signs?\Z")],
        "user-who-acts": [Anchor(r"user\Z", behind=SPACES)],
        "user-with-sign": [
            Anchor(r"(?:u|user)\Z", behind="/"),
            within(r"\d{3,5}\Z", before="#"),
            within(ANY_WORD, before="_"),
        ],
        "user-with-underscore": [within(ANY_WORD, behind="_")],
        "user-between-words": [within(ANY_WORD, behind="_")],
        "user-after-noun": [
            *begin_phrases(
                """user username screen screenname gamer gamertag nick nickname avatar log login handle blogger vlogger youtuber influencer streamer redditor
                instagrammer tiktoker tweeter commenter forum reddit discord instagram insta twitter facebook snap_?chat tik_?tok telegram wechat twitch
                mumsnet netmums youtube mastodon bluesky tumblr patientslikeme"""
            ),
            Anchor(r"(?:IG|FB|YT|TT|X)\Z", cased=True),
        ],
        "user-beside-site": begin_phrases(
            "forum reddit discord instagram insta twitter facebook snap_?chat tik_?tok telegram wechat twitch mumsnet netmums youtube mastodon bluesky tumblr patientslikeme"
        ),
        "user-of-short-site": [Anchor(r"(?:IG|FB|YT|TT)\Z", cased=True)],
        "profile-path": [
            Anchor(r"(?:linkedin|fb|facebook|xing|orcid|behance)\Z", begins=False),
            within(r"u\Z", before="/", behind="/"),
            within(ANY_WORD, before="@"),
        ],
        "mail-folder": [Anchor(r"(?:inbox|sent|drafts|outbox|archive|junk|trash|deleted)\Z")],
        "machine-by-ending": [
            within(r"[^\W\d_]{3,15}(?:pc|laptop|macbook|imac|ipad|iphone|desktop|workstation)\d{0,3}\Z")
        ],
        "two-disguised-words": [
            Anchor(r"(?=\w{0,14}[A-Za-z]\d{1,4}[a-z])[A-Z0-9][A-Za-z0-9]{2,14}\Z", behind=SPACES, cased=True)
        ],
        "foreign-domain": [Anchor(r"xn\Z", behind="-")],
        "backwards": [Anchor(r"(?:backwards?|reversed?|mirrored|in|right|anagram)\Z")],
        "hexadecimal": [Anchor(r"[2-7][\da-f]{7,}\Z")],
        "base-64": [
            Anchor(r"(?=[A-Za-z]*\d)[A-Za-z0-9]{12,}\Z", cased=True),
            Anchor(ANY_WORD, behind="+/=_-"),
        ],
        "scrambled": [
            within(ANY_WORD, behind="~^|{}$\\`<>@&%#*!"),
            within(ANY_WORD, before="~^|{}$\\`<>@&%#*!"),
        ],
        "series-of-codes": [
            Anchor(
                r"(?:(?:0x)?[0-9a-f]{2}|[01]{7,8}|\d{3})\Z",
                behind=f"{SPACES},:;-",
                next=r"(?:0x[0-9a-f]{2}|[2-7][0-9a-f]|[01]{7,8}|\d{2,3})\Z",
            )
        ],
    }
)

SIGNS: Mapping[str, str] = MappingProxyType({"user-at-host": "@"})
"""A sign that every match of a pattern contains, or one of the anchors."""

_CONTACT, _NAME = HyperClass.CONTACT, HyperClass.NAME
LIFTED_BY: Mapping[str, frozenset[HyperClass]] = MappingProxyType(
    {
        name: frozenset({_CONTACT, _NAME})
        for name in VETOES
        if name
        not in ("hexadecimal", "base-64", "scrambled", "series-of-codes", "backwards", "two-disguised-words")
    }
)
"""The classes that a user must keep, all of them, before a pattern loses its force. A code may hold anything."""
