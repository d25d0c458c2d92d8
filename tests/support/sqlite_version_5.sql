-- The tables of a SQLite log of version 5, the last one that read rows by their times.
CREATE TABLE messages (
    message_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE TABLE events (
    event_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp REAL NOT NULL
);
CREATE TABLE profiles (
    user_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    created_at REAL NOT NULL,
    char_count INTEGER NOT NULL,
    PRIMARY KEY (user_id, version)
);
CREATE TABLE calls (
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    message_id TEXT,
    call_id TEXT NOT NULL,
    batch TEXT NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    server TEXT,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    started_at REAL,
    completed_at REAL,
    worker TEXT, decision TEXT, result TEXT, settling TEXT,
    PRIMARY KEY (conversation_id, batch, position)
) WITHOUT ROWID;
CREATE TABLE claims (
    conversation_id TEXT PRIMARY KEY NOT NULL,
    number INTEGER NOT NULL,
    owner TEXT,
    expires_at REAL NOT NULL,
    worker TEXT NOT NULL,
    machine TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE cogency_rs_revisions (conversation_id TEXT PRIMARY KEY NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX idx_messages_conversation ON messages(conversation_id, timestamp);
CREATE INDEX idx_messages_type ON messages(type);
CREATE INDEX idx_messages_user ON messages(user_id);
CREATE INDEX idx_messages_user_type ON messages(user_id, type, timestamp);
CREATE INDEX idx_events_conversation ON events(conversation_id, timestamp);
CREATE INDEX idx_profiles_user_latest ON profiles(user_id, version DESC);
CREATE INDEX idx_profiles_cleanup ON profiles(created_at);
CREATE INDEX unknown_calls ON calls (conversation_id, batch, position) WHERE status = 'unknown';
CREATE INDEX unsettled_calls ON calls (conversation_id, batch, position) WHERE status IN ('early', 'ended', 'open', 'saved', 'waiting');
CREATE TRIGGER cogency_rs_replaced 
        BEFORE INSERT ON messages
        WHEN EXISTS (SELECT 1 FROM messages WHERE message_id = NEW.message_id)
            OR EXISTS (SELECT 1 FROM messages WHERE rowid = NEW.rowid)
        BEGIN 
    UPDATE cogency_rs_revisions SET revision = random() WHERE conversation_id IN (
        SELECT conversation_id FROM messages WHERE message_id = NEW.message_id OR rowid = NEW.rowid
    );
 END;
CREATE TRIGGER cogency_rs_inserted 
        AFTER INSERT ON messages
        WHEN NOT EXISTS (SELECT 1 FROM cogency_rs_revisions WHERE conversation_id = NEW.conversation_id)
            OR NEW.rowid <> (
                SELECT rowid FROM messages WHERE conversation_id = NEW.conversation_id
                ORDER BY timestamp DESC, rowid DESC LIMIT 1
            )
        BEGIN 
    DELETE FROM cogency_rs_revisions WHERE conversation_id = NEW.conversation_id;
    INSERT INTO cogency_rs_revisions SELECT NEW.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = NEW.conversation_id);
 END;
CREATE TRIGGER cogency_rs_replaced_by_update 
        BEFORE UPDATE ON messages
        BEGIN 
    UPDATE cogency_rs_revisions SET revision = random() WHERE conversation_id IN (
        SELECT conversation_id FROM messages WHERE message_id = NEW.message_id OR rowid = NEW.rowid
    );
 END;
CREATE TRIGGER cogency_rs_updated 
        AFTER UPDATE ON messages
        BEGIN 
    DELETE FROM cogency_rs_revisions WHERE conversation_id = OLD.conversation_id;
    INSERT INTO cogency_rs_revisions SELECT OLD.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = OLD.conversation_id);

    DELETE FROM cogency_rs_revisions WHERE conversation_id = NEW.conversation_id;
    INSERT INTO cogency_rs_revisions SELECT NEW.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = NEW.conversation_id);
 END;
CREATE TRIGGER cogency_rs_deleted 
        AFTER DELETE ON messages
        BEGIN 
    DELETE FROM cogency_rs_revisions WHERE conversation_id = OLD.conversation_id;
    INSERT INTO cogency_rs_revisions SELECT OLD.conversation_id, random()
    WHERE EXISTS (SELECT 1 FROM messages WHERE conversation_id = OLD.conversation_id);
 END;
CREATE TABLE cogency_rs_version (version INTEGER PRIMARY KEY, made_at REAL NOT NULL);
INSERT INTO cogency_rs_version VALUES (1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (5, 1.0);
