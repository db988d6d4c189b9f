CREATE TABLE actions (
    layer_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    steps TEXT NOT NULL,
    PRIMARY KEY (layer_id, position),
    FOREIGN KEY(layer_id) REFERENCES layers (id)
);
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
    seal VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE (source_id, number),
    FOREIGN KEY(source_id) REFERENCES sources (id),
    FOREIGN KEY(assignee_id) REFERENCES users (id),
    FOREIGN KEY(lock_user_id) REFERENCES users (id)
);
CREATE TABLE contents (
    case_id INTEGER NOT NULL,
    sealed_text BLOB NOT NULL,
    sealed_tokens BLOB NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (case_id),
    FOREIGN KEY(case_id) REFERENCES cases (id)
);
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
    seal VARCHAR(64),
    PRIMARY KEY (case_id, user_id),
    FOREIGN KEY(case_id) REFERENCES cases (id),
    FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE intakes (
    source_id INTEGER NOT NULL,
    masking_id INTEGER NOT NULL,
    export_name TEXT NOT NULL,
    content_hash VARCHAR(64) NOT NULL,
    added_at DOUBLE NOT NULL,
    added_by VARCHAR(64) NOT NULL,
    sealed_facts BLOB NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (source_id),
    FOREIGN KEY(source_id) REFERENCES sources (id),
    FOREIGN KEY(masking_id) REFERENCES maskings (id)
);
CREATE TABLE known (
    who_hash VARCHAR(64) NOT NULL,
    at DOUBLE NOT NULL,
    PRIMARY KEY (who_hash)
);
CREATE TABLE layers (
    id INTEGER NOT NULL,
    case_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    is_blind BOOLEAN NOT NULL,
    revision INTEGER NOT NULL,
    n_done INTEGER NOT NULL,
    approval INTEGER,
    actions_hash VARCHAR(64),
    seconds DOUBLE NOT NULL,
    seen_at DOUBLE NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE (case_id, user_id, kind),
    FOREIGN KEY(case_id) REFERENCES cases (id),
    FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE maskings (
    id INTEGER NOT NULL,
    fingerprint VARCHAR(64) NOT NULL,
    facts TEXT NOT NULL,
    output TEXT NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE (fingerprint)
);
CREATE TABLE meta (
    name VARCHAR(40) NOT NULL,
    value TEXT NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (name)
);
CREATE TABLE name_keys (
    id BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE listed_words (
    id BIGINT NOT NULL,
    sort VARCHAR(20) NOT NULL,
    user_id INTEGER NOT NULL,
    at DOUBLE NOT NULL,
    case_id INTEGER,
    for_new_files BOOLEAN NOT NULL,
    unfinished VARCHAR(10) NOT NULL,
    sealed BLOB NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id),
    FOREIGN KEY(user_id) REFERENCES users (id),
    FOREIGN KEY(case_id) REFERENCES cases (id)
);
CREATE INDEX ix_listed_words_case_id ON listed_words (case_id);
CREATE TABLE notes (
    id INTEGER NOT NULL,
    case_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL,
    at DOUBLE NOT NULL,
    first INTEGER,
    stop INTEGER,
    sealed BLOB NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id),
    FOREIGN KEY(case_id) REFERENCES cases (id),
    FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE sample_cases (
    sample_id INTEGER NOT NULL,
    case_id INTEGER NOT NULL,
    reader_id INTEGER,
    leaks BOOLEAN,
    seal VARCHAR(64),
    PRIMARY KEY (sample_id, case_id),
    FOREIGN KEY(sample_id) REFERENCES samples (id),
    FOREIGN KEY(case_id) REFERENCES cases (id),
    FOREIGN KEY(reader_id) REFERENCES users (id)
);
CREATE TABLE samples (
    id INTEGER NOT NULL,
    drawn_at DOUBLE NOT NULL,
    n_released INTEGER NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id)
);
CREATE TABLE sessions (
    id_hash VARCHAR(64) NOT NULL,
    user_id INTEGER NOT NULL,
    expires_at DOUBLE NOT NULL,
    seen_at DOUBLE NOT NULL,
    address TEXT,
    needs_code BOOLEAN DEFAULT 0 NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id_hash),
    FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE sources (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    name_key BIGINT NOT NULL,
    format VARCHAR(20) NOT NULL,
    sealed BLOB NOT NULL,
    seal VARCHAR(64),
    PRIMARY KEY (id)
);
CREATE TABLE trail (
    number INTEGER NOT NULL,
    line TEXT NOT NULL,
    hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE trail_head (
    id INTEGER NOT NULL,
    n_entries INTEGER NOT NULL,
    hash VARCHAR(64) NOT NULL,
    seal VARCHAR(64) NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE unrecorded (
    user VARCHAR(64) NOT NULL,
    event VARCHAR(64) NOT NULL,
    since DOUBLE NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (user, event)
);
CREATE TABLE users (
    id INTEGER NOT NULL,
    name VARCHAR(64) NOT NULL,
    password TEXT NOT NULL,
    role VARCHAR(20) NOT NULL,
    is_active BOOLEAN NOT NULL,
    must_change_password BOOLEAN DEFAULT 0 NOT NULL,
    sealed_secret BLOB,
    last_code BIGINT,
    recovery_codes TEXT,
    issuer TEXT,
    subject TEXT,
    seal VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE (name)
);
CREATE TABLE waiting (
    id INTEGER NOT NULL,
    state VARCHAR(20) NOT NULL,
    n_bytes BIGINT NOT NULL,
    name_key BIGINT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE waiting_pieces (
    waiting_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (waiting_id, number),
    FOREIGN KEY(waiting_id) REFERENCES waiting (id)
);
CREATE INDEX cases_by_doubt ON cases (doubt DESC, id);
CREATE INDEX cases_by_state ON cases (state, doubt DESC, id);
CREATE INDEX failures_by_who ON failures (who_hash, at);
CREATE INDEX ix_cases_assignee_id ON cases (assignee_id);
CREATE INDEX ix_cases_lock_user_id ON cases (lock_user_id);
CREATE INDEX ix_intakes_masking_id ON intakes (masking_id);
CREATE INDEX ix_notes_case_id ON notes (case_id);
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE UNIQUE INDEX users_by_subject ON users (issuer, subject);
