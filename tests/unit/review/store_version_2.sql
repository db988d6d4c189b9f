BEGIN TRANSACTION;
CREATE TABLE actions (
	layer_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	steps TEXT NOT NULL, 
	PRIMARY KEY (layer_id, position), 
	FOREIGN KEY(layer_id) REFERENCES layers (id)
);
INSERT INTO "actions" VALUES(1,0,'[[5, 6, false, null]]');
INSERT INTO "actions" VALUES(2,0,'[[0, 1, true, null]]');
CREATE TABLE cases (
	id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	doubt DOUBLE NOT NULL, 
	n_tokens INTEGER NOT NULL, 
	n_doubtful INTEGER NOT NULL, 
	is_failed BOOLEAN NOT NULL, 
	n_approvals INTEGER NOT NULL, 
	assignee_id INTEGER, 
	lock_user_id INTEGER, 
	lock_until DOUBLE, 
	PRIMARY KEY (id), 
	UNIQUE (source_id, number), 
	FOREIGN KEY(source_id) REFERENCES sources (id), 
	FOREIGN KEY(assignee_id) REFERENCES users (id), 
	FOREIGN KEY(lock_user_id) REFERENCES users (id)
);
INSERT INTO "cases" VALUES(1,1,1,'c1','released',0.0,7,0,0,1,NULL,NULL,NULL);
INSERT INTO "cases" VALUES(2,1,2,'c2','in review',0.0,6,0,0,0,NULL,1,1700001800.0);
INSERT INTO "cases" VALUES(3,2,2,'7','released',0.0,3,0,0,1,NULL,NULL,NULL);
INSERT INTO "cases" VALUES(4,2,3,'8','new',0.0,2,0,0,0,NULL,NULL,NULL);
INSERT INTO "cases" VALUES(5,3,1,'a.txt','new',0.0,3,0,0,0,NULL,NULL,NULL);
INSERT INTO "cases" VALUES(6,4,1,'c1','released',0.0,5,0,0,1,NULL,NULL,NULL);
INSERT INTO "cases" VALUES(7,4,2,'c2','new',0.0,2,0,0,0,NULL,NULL,NULL);
CREATE TABLE contents (
	case_id INTEGER NOT NULL, 
	sealed_text BLOB NOT NULL, 
	sealed_tokens BLOB NOT NULL, 
	PRIMARY KEY (case_id), 
	FOREIGN KEY(case_id) REFERENCES cases (id)
);
INSERT INTO "contents" VALUES(1,X'6206D36F5C60DC5405767DFAA408F6D24804EFF27E2EEA4A7CACEEBF8C870FC69CAAEF478F57E452C7614267379045B0B8A8AB64C584126C671182D20A93A8F037C56DE531000371C610AAB7417A88F70E0DFB1DC5C053627988F1866836EF9AED19393F0569406EE595F547CFCDC96EB9CFA96CFB654D',X'F63489D66FCE6B8BA76FF57B6F7A6080CCFBC367CA9FC24874E089F2445F0F2B78594B15D7F9578BA08A17C102147A09DE853B956A09FA568C9851AFCE6F9A00BF91536F410CD0C0A747C1FD19521640F44E1B164295D5D704C7B0D6BDB43AF7661D65A41C95D3E6FF04E9C25C004A63E80B7C64CE9C92753BDA9108201B2BBFCE52C687D281731238F662A2E646814D558D09D7D2D6354FDDE098F247F96BADFA3E93FB84C280CE');
INSERT INTO "contents" VALUES(2,X'55B90C8DE05102233580D868BEE7E09E6A7AC3303AF2EFE19A5E1FD5F1D6D8C5CA04FB280CF4EE52C7EAF9C6F400AABC67726FF8C4F0214AD9E272B12D042A9ED0D8AC146E9F97626E5840F191087039A4DC4FF167B0D8868F84FF5EDC91AACD9110D722A28039E892',X'428A44E4E332E4171EEB576EDB8B86FE29B98302D59DBF8074A6F5C8216D1E1796A9C06CAD6BDA0067A3D42A656F322DB915CA42019D15CB7F75411D4FEA8040C922AA9754FB397FD56406C66899C3D547A3F531B2957D9DABCAD6AF4535E2D1809E3C50AFE982036BF098DD460371F06213D651173F19A0F8C43BE0C08C951F43AB3B1C656BC6F20C891C6E279E7F9056F37DFF');
INSERT INTO "contents" VALUES(3,X'B6A715480B912A8A00956CE19A1970E74DE12250E54C4D00D5A5F66DA3DA633A2E83738D14313ED7D384574666B719BF11242CAD49133D2480B2BE8BFE56F319A0BF12804F78FF4EB422CE4BD46C0C3C1D3FCA489C564BD7',X'6D74FA3B31620834647CD41F1D5CE576F222047FC4615D99792DA138823FD4C27CF598ED6BEB5C9F16B4362723C3DE45C565031C5579D5639A51D711928F9462A601FF8DC0FEC2475B2CCE1ABD69C08ABA3A957E67FF130B');
INSERT INTO "contents" VALUES(4,X'E024036F1C43CDBB844CBD559458094200DC9EE9B6D9F1B52621EEB8185DDF881B57C446E46A79D44E1ADCD3BACD98AB60EA7032D0968EF46956856B422F0237E9DDA88042358736E8E3624D89979DF422DB2E2A',X'6C3420E4CE5523C5FE5BDF8993F775071E069342C85104FE4E833B66EA06523BB2E708B39D3C9B40B7919040BA7A2DD43EFCA375265712A7A64CA09372A81D169BDFF1A6');
INSERT INTO "contents" VALUES(5,X'731475A28E0A4BD870E0D2C230683630A5E731F18F1BBB5229D130E12F4F19FEA3668B698443CC57305C8368618BCFE701AD93477CAC49DE9EEDADC0DAD4002AC6F112BA15C59680EA84FAF2B081C324F4631FEFC49613B6779E85FAADAEA59D2E5D',X'57607B2B4D0B660BA3BB49311C600CA85CF3B27FC613B60DD01F54D6E684B0DB7D8162D89236AA54CAFB656865A113E796754F838CB5CD200C111EBE796C4960D47991ED173B71D18E1034747DF5C93991ECBF4C50067E79');
INSERT INTO "contents" VALUES(6,X'B42A47B470F546F40FB4CC29ECB1F39936CBD425434267B30AA8A6FBBDEB0D0064B40F9D5693E5817065F48C4A2A03ADCE974D9CA96DF6271ACD2E41F11D8DC3E03B14D539208BBA206D01300D92ECFFD8969BCDFBE52AB6C60BC37DAECBE2F76C3BC708AA4792',X'6F6DFAEE7DD5FC99D9719F40CF737577BC8A4FBE6F2F28892C0F9AA5A3D052D4A0ABED13FA16A609B5B1664972C2A3D2EA00149F80CC149C5A07E09EE56CCB78D927879867FE091C525FF8E21D78018749529067BB36371699D5C44EA12E506CD307359AF8DFEFDB5E4AAAA925DCD68261EA4C94EDD70D2ACA006541F9C851FB');
INSERT INTO "contents" VALUES(7,X'ADA951DFBCB34C40C004FDF487727B7025007520F2EC82A4FBEC81AA367F1ED1B9279A02B9277BA38B78CBAC3C49FA149E2A931FA807168B346B3B8BE6F43D617CD3C6E466EED892E2E9C032ED5D8A4549E2007292EDE02D0763D7',X'D3EE9C8B140527DA4A741B4FE29B1D28909FCB454E983AABFF2A41103616A53F501DA07EBBC738930A37355CF9A1DFE0CFDFB1F19392CD0293375E7514591CF156E427B2');
CREATE TABLE failures (
	id INTEGER NOT NULL, 
	who_hash VARCHAR(64) NOT NULL, 
	at DOUBLE NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE forms (
	case_id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	answers TEXT NOT NULL, 
	sealed BLOB NOT NULL, 
	PRIMARY KEY (case_id, user_id), 
	FOREIGN KEY(case_id) REFERENCES cases (id), 
	FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "forms" VALUES(6,2,'{"reaction": ["yes", null], "seriousness": ["yes", null], "outcome": ["yes", null], "drug names": ["yes", null], "history": ["yes", null], "doses": ["yes", null], "lab results": ["yes", null], "time course": ["yes", null]}',X'5320FFC7E32E609E3FF278F675E5663DAECAFC97E423A3E60A5D1CF552CB5D7DE92824BE7258F3EE9D1A20F11BDF');
CREATE TABLE intakes (
	source_id INTEGER NOT NULL, 
	masking_id INTEGER NOT NULL, 
	export_name TEXT NOT NULL, 
	content_hash VARCHAR(64) NOT NULL, 
	added_at DOUBLE NOT NULL, 
	added_by VARCHAR(64) NOT NULL, 
	PRIMARY KEY (source_id), 
	FOREIGN KEY(source_id) REFERENCES sources (id), 
	FOREIGN KEY(masking_id) REFERENCES maskings (id), 
	UNIQUE (export_name)
);
INSERT INTO "intakes" VALUES(1,1,'cases.jsonl','fe54e4501d05c2e51e4ef5e48858af6e755e24e763c4c99b57c6a78d1b5ea8bc',1701000000.0,'migration');
INSERT INTO "intakes" VALUES(2,1,'table.csv','4e3cd650171c7d04b24a30584dcd6988e96e63c40609f6fb7d5abd547ba44e49',1701000000.0,'migration');
INSERT INTO "intakes" VALUES(3,1,'a.txt','cb937e4173c195265b03cc82b13dc2980454c7a957a1310355ba732ec07cab8c',1701000000.0,'migration');
INSERT INTO "intakes" VALUES(4,2,'more.jsonl','ed9cc1e1a73384d46f426bbf92d33d7cb481956a40bdeb5b1a57a83be1aa7927',1701000000.0,'command');
CREATE TABLE layers (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	is_blind BOOLEAN NOT NULL, 
	revision INTEGER NOT NULL, 
	n_done INTEGER NOT NULL, 
	approval INTEGER, 
	seconds DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, user_id, kind), 
	FOREIGN KEY(case_id) REFERENCES cases (id), 
	FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "layers" VALUES(1,1,1,'review',0,2,1,1,0.0,1700000000.0);
INSERT INTO "layers" VALUES(2,2,1,'review',0,1,1,NULL,0.0,1700000000.0);
INSERT INTO "layers" VALUES(3,3,2,'review',0,1,0,1,0.0,1700000000.0);
INSERT INTO "layers" VALUES(4,6,2,'review',0,1,0,1,0.0,1701000000.0);
CREATE TABLE maskings (
	id INTEGER NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	facts TEXT NOT NULL, 
	output TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (fingerprint)
);
INSERT INTO "maskings" VALUES(1,'5d0a267734ad02741cb27107f6106aaad129e26b002bf2106b15f286f4df25f9','{"fingerprint": "fake", "model_sha256": "abababababababababababababababababababababababababababababababab", "lexicon_sha256": "", "marker": "XXX", "category_markers": false, "categories": [], "low": 0.9, "high": 0.9, "density_slope": 0.0}','{"cases": {"today": "2024-01-01", "dates": "mask", "ages": "mask", "age_bands": null, "day_first": null, "date_span_years": 10}, "profile": {"name": "third-party", "actions": {"N.1.2": "pseudonym", "N.1.3": "keep", "N.1.4": "keep", "N.1.5": "date", "N.2.r.1": "pseudonym", "N.2.r.2": "keep", "N.2.r.3": "keep", "N.2.r.4": "date", "C.1.1": "pseudonym", "C.1.2": "date", "C.1.4": "date", "C.1.5": "date", "C.1.6.1.r.1": "text", "C.1.6.1.r.2": "drop", "C.1.8.1": "pseudonym", "C.1.9.1.r.1": "keep", "C.1.9.1.r.2": "pseudonym", "C.1.10.r": "pseudonym", "C.1.11.2": "text", "C.2.r.1.1": "mask", "C.2.r.1.2": "mask", "C.2.r.1.3": "mask", "C.2.r.1.4": "mask", "C.2.r.2.1": "mask", "C.2.r.2.2": "mask", "C.2.r.2.3": "mask", "C.2.r.2.4": "mask", "C.2.r.2.5": "mask", "C.2.r.2.6": "mask", "C.2.r.2.7": "mask", "FDA.C.2.r.2.8": "drop", "C.2.r.3": "keep", "C.3.2": "keep", "C.3.3.1": "blank", "C.3.3.2": "blank", "C.3.3.3": "blank", "C.3.3.4": "blank", "C.3.3.5": "blank", "C.3.4.1": "blank", "C.3.4.2": "blank", "C.3.4.3": "blank", "C.3.4.4": "blank", "C.3.4.5": "keep", "C.3.4.6": "blank", "C.3.4.7": "blank", "C.3.4.8": "drop", "A.3.2.2a": "keep", "A.3.2.2b": "blank", "A.3.2.2c": "blank", "A.3.2.2d": "blank", "A.3.2.2e": "blank", "A.3.2.2f": "blank", "A.3.2.3a": "blank", "A.3.2.3b": "blank", "A.3.2.3c": "blank", "A.3.2.3d": "blank", "A.3.2.3e": "keep", "A.3.2.3f": "blank", "A.3.2.3l": "drop", "C.4.r.1": "text", "C.4.r.2": "drop", "C.5.1.r.1": "keep", "C.5.2": "text", "C.5.3": "keep", "FDA.C.5.5": "keep", "D.1": "mask", "D.1.1.1": "mask", "D.1.1.2": "mask", "D.1.1.3": "mask", "D.1.1.4": "mask", "D.2.1": "mask", "D.2.2a": "age", "D.2.2.1a": "age", "D.2.3": "age", "D.6": "date", "D.7.1.r.2": "date", "D.7.1.r.4": "date", "D.7.1.r.5": "text", "D.7.2": "text", "D.8.r.1": "text", "D.8.r.4": "date", "D.8.r.5": "date", "D.9.1": "date", "D.9.2.r.2": "text", "D.9.4.r.2": "text", "D.10.1": "mask", "D.10.2.1": "mask", "D.10.2.2a": "age", "D.10.3": "date", "D.10.7.1.r.2": "date", "D.10.7.1.r.4": "date", "D.10.7.1.r.5": "text", "D.10.7.2": "text", "D.10.8.r.1": "text", "D.10.8.r.4": "date", "D.10.8.r.5": "date", "E.i.1.1a": "text", "E.i.1.2": "text", "E.i.4": "date", "E.i.5": "date", "F.r.1": "date", "F.r.2.1": "text", "F.r.3.4": "text", "F.r.6": "text", "G.k.2.2": "text", "G.k.2.3.r.1": "keep", "G.k.3.1": "keep", "G.k.3.3": "keep", "G.k.4.r.4": "date", "G.k.4.r.5": "date", "G.k.4.r.7": "keep", "G.k.4.r.8": "text", "G.k.4.r.9.1": "text", "G.k.4.r.10.1": "text", "G.k.4.r.11.1": "text", "G.k.6a": "age", "G.k.7.r.1": "text", "G.k.9.i.2.r.1": "text", "G.k.9.i.2.r.2": "text", "G.k.9.i.2.r.3": "text", "G.k.11": "text", "FDA.G.k.12.r.4": "keep", "FDA.G.k.12.r.7": "keep", "FDA.G.k.12.r.9": "keep", "H.1": "text", "H.2": "text", "H.4": "text", "H.5.r.1a": "text"}, "attachments": "drop", "display_names": "drop", "other_dates": "date"}, "read_options": {"encoding": "utf-8", "text_columns": ["text"], "id_column": null, "keep_columns": ["country"], "keep_all_columns": false, "is_masked": false, "delimiter": null, "n_before": 0, "row_groups": null, "with_offsets": false, "profile": null}}');
INSERT INTO "maskings" VALUES(2,'2b4053a8f700155a6a11be622963c6bf63f020b900b1ba1eef47293297ea90f0','{"fingerprint": "fake", "model_sha256": "abababababababababababababababababababababababababababababababab", "lexicon_sha256": "", "marker": "PHI", "category_markers": false, "categories": [], "low": 0.9, "high": 0.9, "density_slope": 0.0}','{"cases": {"today": "2024-01-01", "dates": "mask", "ages": "mask", "age_bands": null, "day_first": null, "date_span_years": 10}, "profile": {"name": "third-party", "actions": {"N.1.2": "pseudonym", "N.1.3": "keep", "N.1.4": "keep", "N.1.5": "date", "N.2.r.1": "pseudonym", "N.2.r.2": "keep", "N.2.r.3": "keep", "N.2.r.4": "date", "C.1.1": "pseudonym", "C.1.2": "date", "C.1.4": "date", "C.1.5": "date", "C.1.6.1.r.1": "text", "C.1.6.1.r.2": "drop", "C.1.8.1": "pseudonym", "C.1.9.1.r.1": "keep", "C.1.9.1.r.2": "pseudonym", "C.1.10.r": "pseudonym", "C.1.11.2": "text", "C.2.r.1.1": "mask", "C.2.r.1.2": "mask", "C.2.r.1.3": "mask", "C.2.r.1.4": "mask", "C.2.r.2.1": "mask", "C.2.r.2.2": "mask", "C.2.r.2.3": "mask", "C.2.r.2.4": "mask", "C.2.r.2.5": "mask", "C.2.r.2.6": "mask", "C.2.r.2.7": "mask", "FDA.C.2.r.2.8": "drop", "C.2.r.3": "keep", "C.3.2": "keep", "C.3.3.1": "blank", "C.3.3.2": "blank", "C.3.3.3": "blank", "C.3.3.4": "blank", "C.3.3.5": "blank", "C.3.4.1": "blank", "C.3.4.2": "blank", "C.3.4.3": "blank", "C.3.4.4": "blank", "C.3.4.5": "keep", "C.3.4.6": "blank", "C.3.4.7": "blank", "C.3.4.8": "drop", "A.3.2.2a": "keep", "A.3.2.2b": "blank", "A.3.2.2c": "blank", "A.3.2.2d": "blank", "A.3.2.2e": "blank", "A.3.2.2f": "blank", "A.3.2.3a": "blank", "A.3.2.3b": "blank", "A.3.2.3c": "blank", "A.3.2.3d": "blank", "A.3.2.3e": "keep", "A.3.2.3f": "blank", "A.3.2.3l": "drop", "C.4.r.1": "text", "C.4.r.2": "drop", "C.5.1.r.1": "keep", "C.5.2": "text", "C.5.3": "keep", "FDA.C.5.5": "keep", "D.1": "mask", "D.1.1.1": "mask", "D.1.1.2": "mask", "D.1.1.3": "mask", "D.1.1.4": "mask", "D.2.1": "mask", "D.2.2a": "age", "D.2.2.1a": "age", "D.2.3": "age", "D.6": "date", "D.7.1.r.2": "date", "D.7.1.r.4": "date", "D.7.1.r.5": "text", "D.7.2": "text", "D.8.r.1": "text", "D.8.r.4": "date", "D.8.r.5": "date", "D.9.1": "date", "D.9.2.r.2": "text", "D.9.4.r.2": "text", "D.10.1": "mask", "D.10.2.1": "mask", "D.10.2.2a": "age", "D.10.3": "date", "D.10.7.1.r.2": "date", "D.10.7.1.r.4": "date", "D.10.7.1.r.5": "text", "D.10.7.2": "text", "D.10.8.r.1": "text", "D.10.8.r.4": "date", "D.10.8.r.5": "date", "E.i.1.1a": "text", "E.i.1.2": "text", "E.i.4": "date", "E.i.5": "date", "F.r.1": "date", "F.r.2.1": "text", "F.r.3.4": "text", "F.r.6": "text", "G.k.2.2": "text", "G.k.2.3.r.1": "keep", "G.k.3.1": "keep", "G.k.3.3": "keep", "G.k.4.r.4": "date", "G.k.4.r.5": "date", "G.k.4.r.7": "keep", "G.k.4.r.8": "text", "G.k.4.r.9.1": "text", "G.k.4.r.10.1": "text", "G.k.4.r.11.1": "text", "G.k.6a": "age", "G.k.7.r.1": "text", "G.k.9.i.2.r.1": "text", "G.k.9.i.2.r.2": "text", "G.k.9.i.2.r.3": "text", "G.k.11": "text", "FDA.G.k.12.r.4": "keep", "FDA.G.k.12.r.7": "keep", "FDA.G.k.12.r.9": "keep", "H.1": "text", "H.2": "text", "H.4": "text", "H.5.r.1a": "text"}, "attachments": "drop", "display_names": "drop", "other_dates": "date"}, "read_options": {"encoding": null, "text_columns": ["text"], "id_column": null, "keep_columns": [], "keep_all_columns": false, "is_masked": false, "delimiter": null, "n_before": 0, "row_groups": null, "with_offsets": false, "profile": null, "renames": null, "new_name": "", "nesting": null, "all_cells": false, "finds_out": true, "without_id": false}}');
CREATE TABLE meta (
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('schema version','2');
INSERT INTO "meta" VALUES('key check','32db98db6ca1b4f74329ec04e7fcda7e84a0c47ae0191c61e26d6084903461632335e873827bacadcd150672f4b79751d0');
INSERT INTO "meta" VALUES('settings','{"policy": {"approvals": 1, "blind_to_model": false, "automatic_release": true, "lock_minutes": 30}, "facts": {"fingerprint": "fake", "model_sha256": "abababababababababababababababababababababababababababababababab", "lexicon_sha256": "", "marker": "XXX", "category_markers": false, "categories": [], "low": 0.9, "high": 0.9, "density_slope": 0.0}}');
INSERT INTO "meta" VALUES('last case','7');
INSERT INTO "meta" VALUES('last file','4');
CREATE TABLE notes (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	first INTEGER, 
	stop INTEGER, 
	sealed BLOB NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(case_id) REFERENCES cases (id), 
	FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO "notes" VALUES(1,2,1,1700000000.0,NULL,NULL,X'7BC9842E93936F6D45A42BE6D30CF817CA09C687B0CEDEC9365D17F5CC722FC35218F3BF728726CD3C182FFF0A9D69');
CREATE TABLE sample_cases (
	sample_id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	reader_id INTEGER, 
	leaks BOOLEAN, 
	PRIMARY KEY (sample_id, case_id), 
	FOREIGN KEY(sample_id) REFERENCES samples (id), 
	FOREIGN KEY(case_id) REFERENCES cases (id), 
	FOREIGN KEY(reader_id) REFERENCES users (id)
);
INSERT INTO "sample_cases" VALUES(1,1,NULL,NULL);
INSERT INTO "sample_cases" VALUES(1,6,NULL,NULL);
CREATE TABLE samples (
	id INTEGER NOT NULL, 
	drawn_at DOUBLE NOT NULL, 
	n_released INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "samples" VALUES(1,1701000000.0,3);
CREATE TABLE sessions (
	id_hash VARCHAR(64) NOT NULL, 
	user_id INTEGER NOT NULL, 
	expires_at DOUBLE NOT NULL, 
	seen_at DOUBLE NOT NULL, 
	PRIMARY KEY (id_hash), 
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE sources (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	format VARCHAR(20) NOT NULL, 
	sealed BLOB NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "sources" VALUES(1,'cases.jsonl','jsonl',X'126B73915F756D7D6C67F8EC41C4060920964D6CF6E3898F9539C277FFD7B10E735EC7530746DF8086D29E68CBA264C10459543D979F422B082F6BF1748B8084DC3E01BDCC020C2C49EDCF85F134B47F6186BBAFD1939825A0C922038CE8747CD24CEBB6021E046233BE64A6C2EC1FD886014CA3F5B9158C9109E88C7D033130D69B34F6DA1E8AEB0D1E7171BF954D655DA732025BD33B8CC6329C805D50566AEDF5C97986CCBB28AF68BAAE00B5AE916928');
INSERT INTO "sources" VALUES(2,'table.csv','csv',X'6AD0F4B2C714D940ACCD0BA64AA79DE4BB4DC93B0AFC8B484EF1F4DA37B24B84153586E71F91736D771AA8A4C43266D7534B3939785FDF2D996AFC852C5B7FFA7FC38000ED548E7125A66A948D3F14D877D8BD01ED79BD');
INSERT INTO "sources" VALUES(3,'a.txt','text',X'1D9B263450ED4ABD70E9BE80E77D8672DAF55B557DDB8A80A4EEF76D0E21048681307BDD550D407C981D0955');
INSERT INTO "sources" VALUES(4,'more.jsonl','jsonl',X'DC9B3B2D0C9F12424F9EC592CF1F23E34D8D58115AF22D9A6900C748627A4320D0339D1376494864F6E65FFB56DC54307828C8287243DE80FBF3170F9A643467A036B95F581AD0E779833F3625FEF1F3F1A41E9222EEDAAE14BDE48E065F912C4B62926C3B78B855A8038CA4F5520AD26178');
CREATE TABLE trail (
	number INTEGER NOT NULL, 
	line TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "trail" VALUES(1,'{"at":"2023-11-14T22:13:20.000000+00:00","case":1,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"in review","number":1,"old":"new","previous":"0000000000000000000000000000000000000000000000000000000000000000","start":null,"thresholds":[0.9,0.9],"user":"ann"}','a1dac14dca8a3e68ccaff89ee3e14cbf8223041ec542291c5a72fff890a6d1f2');
INSERT INTO "trail" VALUES(2,'{"at":"2023-11-14T22:13:20.000000+00:00","case":1,"category":"PATIENT","document":"c1","end":35,"event":"change","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"mask PATIENT","number":2,"old":"keep","previous":"a1dac14dca8a3e68ccaff89ee3e14cbf8223041ec542291c5a72fff890a6d1f2","start":28,"thresholds":[0.9,0.9],"user":"ann"}','b501787e5d5f9d1f3d4249230e8d29b087ad7a71bff5e30f9b0c0e1630ba3076');
INSERT INTO "trail" VALUES(3,'{"at":"2023-11-14T22:13:20.000000+00:00","case":1,"category":null,"document":null,"end":null,"event":"approve","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":null,"number":3,"old":null,"previous":"b501787e5d5f9d1f3d4249230e8d29b087ad7a71bff5e30f9b0c0e1630ba3076","start":null,"thresholds":[0.9,0.9],"user":"ann"}','c0f82bf6acecbedd02e88b8b64ead9912b73d573100107102f056f5871a11c6b');
INSERT INTO "trail" VALUES(4,'{"at":"2023-11-14T22:13:20.000000+00:00","case":1,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"agreed","number":4,"old":"in review","previous":"c0f82bf6acecbedd02e88b8b64ead9912b73d573100107102f056f5871a11c6b","start":null,"thresholds":[0.9,0.9],"user":"ann"}','35db41dcfaad3affa0ef2efd30d121a9071344fbc4372c066e52ebb2e1ef2535');
INSERT INTO "trail" VALUES(5,'{"at":"2023-11-14T22:13:20.000000+00:00","case":1,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"released","number":5,"old":"agreed","previous":"35db41dcfaad3affa0ef2efd30d121a9071344fbc4372c066e52ebb2e1ef2535","start":null,"thresholds":[0.9,0.9],"user":"ann"}','86002c36507e5a4618dd2bb4a66c83392d99fbd9edec54641529aeb51e53207d');
INSERT INTO "trail" VALUES(6,'{"at":"2023-11-14T22:13:20.000000+00:00","case":2,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c2","new":"in review","number":6,"old":"new","previous":"86002c36507e5a4618dd2bb4a66c83392d99fbd9edec54641529aeb51e53207d","start":null,"thresholds":[0.9,0.9],"user":"ann"}','f6941cacdc5be32ab713d6ff849f74b529c7b01279ee3cb2d39e3ace4115aad1');
INSERT INTO "trail" VALUES(7,'{"at":"2023-11-14T22:13:20.000000+00:00","case":2,"category":null,"document":null,"end":null,"event":"change","model":"abababababababababababababababababababababababababababababababab","name":"c2","new":null,"number":7,"old":null,"previous":"f6941cacdc5be32ab713d6ff849f74b529c7b01279ee3cb2d39e3ace4115aad1","start":null,"thresholds":[0.9,0.9],"user":"ann"}','abd0be2fbfcd6ff8311108b66466256611c7b894b753158f20cc19fc37b098a1');
INSERT INTO "trail" VALUES(8,'{"at":"2023-11-14T22:13:20.000000+00:00","case":2,"category":null,"document":null,"end":null,"event":"note","model":"abababababababababababababababababababababababababababababababab","name":"c2","new":null,"number":8,"old":null,"previous":"abd0be2fbfcd6ff8311108b66466256611c7b894b753158f20cc19fc37b098a1","start":null,"thresholds":[0.9,0.9],"user":"ann"}','31abcd6ca6057d23a1ca15df0774e9638255653b7a8f0b8837a238733a705a11');
INSERT INTO "trail" VALUES(9,'{"at":"2023-11-14T22:13:20.000000+00:00","case":3,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"7","new":"in review","number":9,"old":"new","previous":"31abcd6ca6057d23a1ca15df0774e9638255653b7a8f0b8837a238733a705a11","start":null,"thresholds":[0.9,0.9],"user":"bea"}','f7d0491f7bd1070b4dc6003a6e89b9914747dd0e6e4b9e43e2f0a3067a944e61');
INSERT INTO "trail" VALUES(10,'{"at":"2023-11-14T22:13:20.000000+00:00","case":3,"category":null,"document":null,"end":null,"event":"approve","model":"abababababababababababababababababababababababababababababababab","name":"7","new":null,"number":10,"old":null,"previous":"f7d0491f7bd1070b4dc6003a6e89b9914747dd0e6e4b9e43e2f0a3067a944e61","start":null,"thresholds":[0.9,0.9],"user":"bea"}','06de865dabc5f72e5d8b75b1bc59c07e504a18c99932828c94e27ce98f327355');
INSERT INTO "trail" VALUES(11,'{"at":"2023-11-14T22:13:20.000000+00:00","case":3,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"7","new":"agreed","number":11,"old":"in review","previous":"06de865dabc5f72e5d8b75b1bc59c07e504a18c99932828c94e27ce98f327355","start":null,"thresholds":[0.9,0.9],"user":"bea"}','34f56f9193ad0cf743c024a28a7eb88ac49428a5fc6edc5a1beafa0f7b53d1e4');
INSERT INTO "trail" VALUES(12,'{"at":"2023-11-14T22:13:20.000000+00:00","case":3,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"7","new":"released","number":12,"old":"agreed","previous":"34f56f9193ad0cf743c024a28a7eb88ac49428a5fc6edc5a1beafa0f7b53d1e4","start":null,"thresholds":[0.9,0.9],"user":"bea"}','fba20cfc0735d3a01452f92c6713addc556cec6dd8457841170d954c06677ba1');
INSERT INTO "trail" VALUES(13,'{"at":"2023-11-26T12:00:00.000000+00:00","case":null,"category":null,"document":null,"end":null,"event":"file 4 added: 2 cases","model":"abababababababababababababababababababababababababababababababab","name":"more.jsonl","new":"settings 2b4053a8f700155a6a11be622963c6bf63f020b900b1ba1eef47293297ea90f0","number":13,"old":null,"previous":"fba20cfc0735d3a01452f92c6713addc556cec6dd8457841170d954c06677ba1","start":null,"thresholds":[0.9,0.9],"user":"command"}','42c2b2ca5c7c0a01085c0997669c06353803b19e5e805ba82126bd645f034330');
INSERT INTO "trail" VALUES(14,'{"at":"2023-11-26T12:00:00.000000+00:00","case":6,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"in review","number":14,"old":"new","previous":"42c2b2ca5c7c0a01085c0997669c06353803b19e5e805ba82126bd645f034330","start":null,"thresholds":[0.9,0.9],"user":"bea"}','c9126848349cc12aa3d8bd66a7dd3191f7d79fe7b98f9d9e3b354de27601aff6');
INSERT INTO "trail" VALUES(15,'{"at":"2023-11-26T12:00:00.000000+00:00","case":6,"category":null,"document":null,"end":null,"event":"approve","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":null,"number":15,"old":null,"previous":"c9126848349cc12aa3d8bd66a7dd3191f7d79fe7b98f9d9e3b354de27601aff6","start":null,"thresholds":[0.9,0.9],"user":"bea"}','fecff302d30b64e6b09e57f0da04d5fd41d881c221e42d75231ba31c6d730df2');
INSERT INTO "trail" VALUES(16,'{"at":"2023-11-26T12:00:00.000000+00:00","case":6,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"agreed","number":16,"old":"in review","previous":"fecff302d30b64e6b09e57f0da04d5fd41d881c221e42d75231ba31c6d730df2","start":null,"thresholds":[0.9,0.9],"user":"bea"}','8ccb0ea053fc68b65d8e1cfff4df8c516570e71a80b4068c72ca1a3649ffa4d0');
INSERT INTO "trail" VALUES(17,'{"at":"2023-11-26T12:00:00.000000+00:00","case":6,"category":null,"document":null,"end":null,"event":"state","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":"released","number":17,"old":"agreed","previous":"8ccb0ea053fc68b65d8e1cfff4df8c516570e71a80b4068c72ca1a3649ffa4d0","start":null,"thresholds":[0.9,0.9],"user":"bea"}','6bba224cc949bb85dd6f8a77bc82a14e6d183c4848dca7d17caaca3f3623bf4f');
INSERT INTO "trail" VALUES(18,'{"at":"2023-11-26T12:00:00.000000+00:00","case":6,"category":null,"document":null,"end":null,"event":"causality form","model":"abababababababababababababababababababababababababababababababab","name":"c1","new":null,"number":18,"old":null,"previous":"6bba224cc949bb85dd6f8a77bc82a14e6d183c4848dca7d17caaca3f3623bf4f","start":null,"thresholds":[0.9,0.9],"user":"bea"}','223b76a4630c4cc82677f99e37c1ca2eb38df76224981cf592d524239412cdc8');
INSERT INTO "trail" VALUES(19,'{"at":"2023-11-26T12:00:00.000000+00:00","case":null,"category":null,"document":null,"end":null,"event":"sample 1 drawn: 2 of 3 released cases","model":"abababababababababababababababababababababababababababababababab","name":null,"new":null,"number":19,"old":null,"previous":"223b76a4630c4cc82677f99e37c1ca2eb38df76224981cf592d524239412cdc8","start":null,"thresholds":[0.9,0.9],"user":"command"}','26e43de1d744bd71c66c0fae8c5b11415dc60d972ad40259b1ba4f8aad696cb6');
CREATE TABLE trail_head (
	id INTEGER NOT NULL, 
	n_entries INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	seal VARCHAR(64) NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "trail_head" VALUES(1,19,'26e43de1d744bd71c66c0fae8c5b11415dc60d972ad40259b1ba4f8aad696cb6','af2af2bdc2d02c54a4fcf7ced1506a906e95b5575f8f2ea48c06df4b52aef7eb');
CREATE TABLE users (
	id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	password TEXT NOT NULL, 
	role VARCHAR(20) NOT NULL, 
	is_active BOOLEAN NOT NULL, must_change_password BOOLEAN NOT NULL DEFAULT false, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "users" VALUES(1,'ann','none','reviewer',1,0);
INSERT INTO "users" VALUES(2,'bea','none','adjudicator',1,0);
CREATE TABLE waiting (
	id INTEGER NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	n_bytes BIGINT NOT NULL, 
	sealed BLOB NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "waiting" VALUES(1,'ready',9,X'1A7A438370F66C1AF880C22C6716889544D30EDFED00C57529B797C54EC73F155F6866CE6DB82C6A258B3AD9948433D70C2C85CD3C13A4AEA87D878A5271372D7DBCCF3E568C51A98248C5DB5BD83C57681BB6E0B873DBD70E05A9616D6765988E36FB7484914A3CE727B6D71DFBA067031A80193AD3F09A42300FB7B9BFD9885153F48DE363B446F450C79971FA153C169E6680D2E5886AB0D48A5B');
CREATE TABLE waiting_pieces (
	waiting_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	sealed BLOB NOT NULL, 
	PRIMARY KEY (waiting_id, number), 
	FOREIGN KEY(waiting_id) REFERENCES waiting (id)
);
INSERT INTO "waiting_pieces" VALUES(1,0,X'91DD051A41918E2731D58D2EFCC69DC7C2991E9A8201225C078F21B7917122F4844DA6AF62');
CREATE INDEX failures_by_who ON failures (who_hash, at);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE INDEX cases_by_state ON cases (state, doubt DESC, id);
CREATE INDEX ix_cases_assignee_id ON cases (assignee_id);
CREATE INDEX cases_by_doubt ON cases (doubt DESC, id);
CREATE INDEX ix_cases_lock_user_id ON cases (lock_user_id);
CREATE INDEX ix_notes_case_id ON notes (case_id);
CREATE INDEX ix_intakes_masking_id ON intakes (masking_id);
CREATE INDEX cases_by_name ON cases (name, id);
COMMIT;
