-- A small event as CTFd 2.0 kept it in SQLite: the first schema of the chain, and never migrated since. Written by hand.
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
CREATE TABLE config (id INTEGER NOT NULL, "key" TEXT, value TEXT, PRIMARY KEY (id));
CREATE TABLE pages (
	id INTEGER NOT NULL,
	title VARCHAR(80),
	route VARCHAR(128),
	content TEXT,
	draft BOOLEAN,
	hidden BOOLEAN,
	auth_required BOOLEAN,
	PRIMARY KEY (id),
	UNIQUE (route)
);
CREATE TABLE teams (
	id INTEGER NOT NULL,
	oauth_id INTEGER,
	name VARCHAR(128),
	email VARCHAR(128),
	password VARCHAR(128),
	secret VARCHAR(128),
	website VARCHAR(128),
	affiliation VARCHAR(128),
	country VARCHAR(32),
	bracket VARCHAR(32),
	hidden BOOLEAN,
	banned BOOLEAN,
	created DATETIME,
	PRIMARY KEY (id),
	UNIQUE (id, oauth_id),
	UNIQUE (oauth_id),
	UNIQUE (email)
);
CREATE TABLE users (
	id INTEGER NOT NULL,
	oauth_id INTEGER,
	name VARCHAR(128),
	password VARCHAR(128),
	email VARCHAR(128),
	type VARCHAR(80),
	secret VARCHAR(128),
	website VARCHAR(128),
	affiliation VARCHAR(128),
	country VARCHAR(32),
	bracket VARCHAR(32),
	hidden BOOLEAN,
	banned BOOLEAN,
	verified BOOLEAN,
	team_id INTEGER,
	created DATETIME,
	PRIMARY KEY (id),
	UNIQUE (id, oauth_id),
	UNIQUE (oauth_id),
	UNIQUE (email),
	FOREIGN KEY(team_id) REFERENCES teams (id)
);
CREATE TABLE challenges (
	id INTEGER NOT NULL,
	name VARCHAR(80),
	description TEXT,
	max_attempts INTEGER,
	value INTEGER,
	category VARCHAR(80),
	type VARCHAR(80),
	state VARCHAR(80) NOT NULL,
	requirements JSON,
	PRIMARY KEY (id)
);
CREATE TABLE dynamic_challenge (
	id INTEGER NOT NULL,
	initial INTEGER,
	minimum INTEGER,
	decay INTEGER,
	PRIMARY KEY (id),
	FOREIGN KEY(id) REFERENCES challenges (id)
);
CREATE TABLE notifications (
	id INTEGER NOT NULL,
	title TEXT,
	content TEXT,
	date DATETIME,
	user_id INTEGER,
	team_id INTEGER,
	PRIMARY KEY (id),
	FOREIGN KEY(team_id) REFERENCES teams (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE awards (
	id INTEGER NOT NULL,
	user_id INTEGER,
	team_id INTEGER,
	name VARCHAR(80),
	description TEXT,
	date DATETIME,
	value INTEGER,
	category VARCHAR(80),
	icon TEXT,
	requirements JSON,
	PRIMARY KEY (id),
	FOREIGN KEY(team_id) REFERENCES teams (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE files (
	id INTEGER NOT NULL,
	type VARCHAR(80),
	location TEXT,
	challenge_id INTEGER,
	page_id INTEGER,
	PRIMARY KEY (id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id),
	FOREIGN KEY(page_id) REFERENCES pages (id)
);
CREATE TABLE flags (
	id INTEGER NOT NULL,
	challenge_id INTEGER,
	type VARCHAR(80),
	content TEXT,
	data TEXT,
	PRIMARY KEY (id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id)
);
CREATE TABLE hints (
	id INTEGER NOT NULL,
	type VARCHAR(80),
	challenge_id INTEGER,
	content TEXT,
	cost INTEGER,
	requirements JSON,
	PRIMARY KEY (id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id)
);
CREATE TABLE tags (
	id INTEGER NOT NULL,
	challenge_id INTEGER,
	value VARCHAR(80),
	PRIMARY KEY (id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id)
);
CREATE TABLE submissions (
	id INTEGER NOT NULL,
	challenge_id INTEGER,
	user_id INTEGER,
	team_id INTEGER,
	ip VARCHAR(46),
	provided TEXT,
	type VARCHAR(32),
	date DATETIME,
	PRIMARY KEY (id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id),
	FOREIGN KEY(team_id) REFERENCES teams (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE solves (
	id INTEGER NOT NULL,
	challenge_id INTEGER,
	user_id INTEGER,
	team_id INTEGER,
	PRIMARY KEY (id),
	UNIQUE (challenge_id, team_id),
	UNIQUE (challenge_id, user_id),
	FOREIGN KEY(challenge_id) REFERENCES challenges (id),
	FOREIGN KEY(id) REFERENCES submissions (id),
	FOREIGN KEY(team_id) REFERENCES teams (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE tracking (
	id INTEGER NOT NULL,
	type VARCHAR(32),
	ip VARCHAR(46),
	user_id INTEGER,
	date DATETIME,
	PRIMARY KEY (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
CREATE TABLE unlocks (
	id INTEGER NOT NULL,
	user_id INTEGER,
	team_id INTEGER,
	target INTEGER,
	date DATETIME,
	type VARCHAR(32),
	PRIMARY KEY (id),
	FOREIGN KEY(team_id) REFERENCES teams (id),
	FOREIGN KEY(user_id) REFERENCES users (id)
);
INSERT INTO alembic_version VALUES ('8369118943a1');
INSERT INTO config VALUES (1, 'ctf_version', '2.0.0'), (2, 'setup', '1'), (3, 'user_mode', 'teams');
INSERT INTO teams (id, name, bracket, hidden, banned) VALUES (1, 'Rooks', 'student', 0, 0), (2, 'Bishops', NULL, 0, NULL);
INSERT INTO users (id, name, type, team_id, hidden, banned, verified, created) VALUES
	(1, 'admin', 'admin', NULL, 1, 0, 1, '2019-01-31 10:00:00.000000'),
	(2, 'late', 'user', 2, 0, 0, 0, '2019-01-31 10:00:01.000000'),
	(3, 'early', 'user', 1, 0, 0, 0, '2019-01-31 10:00:02.000000'),
	(4, 'later', 'user', 1, 0, 0, 0, '2019-01-31 10:00:03.000000');
INSERT INTO challenges (id, name, value, category, type, state, requirements) VALUES
	(1, 'Open', 100, 'Doors', 'standard', 'visible', NULL),
	(2, 'Closed', 400, 'Doors', 'dynamic', 'visible', '"{\"prerequisites\": [1]}"');
INSERT INTO dynamic_challenge VALUES (2, 500, 100, 10);
INSERT INTO hints VALUES (1, 'standard', 1, 'Push', 10, NULL);
INSERT INTO submissions VALUES
	(1, 1, 3, 1, '127.0.0.1', 'wrong', 'incorrect', '2019-01-31 10:01:00.000000'),
	(2, 1, 3, 1, '127.0.0.1', 'right', 'correct', '2019-01-31 10:01:01.000000');
INSERT INTO solves VALUES (2, 1, 3, 1);
INSERT INTO awards (id, user_id, team_id, name, value, category) VALUES (1, 2, 2, 'Hint 1', -10, 'hints');
INSERT INTO tracking VALUES (1, NULL, '127.0.0.1', 3, '2019-01-31 10:00:02.000000');
