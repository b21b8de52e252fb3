//! An agent under evaluation: it collects messages over A2A and acts through tools.
