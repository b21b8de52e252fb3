-- The teams of Urmston Town Juniors FC. A player is in the team of the age that they have; some teams are full.
CREATE TABLE teams (
    age     INTEGER PRIMARY KEY,
    name    TEXT    NOT NULL,
    players INTEGER NOT NULL,
    places  INTEGER NOT NULL,
    contact TEXT    NOT NULL
);

INSERT INTO teams (age, name, players, places, contact) VALUES
    (7,  'U7 Cubs',     10, 10, 'coach@example.com'),
    (8,  'U8 Foxes',     9, 12, 'coach@example.com'),
    (9,  'U9 Tigers',   12, 12, 'coach@example.com'),
    (10, 'U10 Lions',   11, 14, 'coach@example.com'),
    (11, 'U11 Eagles',  14, 14, 'coach@example.com'),
    (12, 'U12 Hawks',   13, 16, 'coach@example.com');
