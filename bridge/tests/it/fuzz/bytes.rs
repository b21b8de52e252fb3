//! Changes texts at random as bytes.

use super::rng::Rng;

/// Words with a meaning for the readers of some text.
const WORDS: [&[u8]; 30] = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\r\n\r\n",
    b":",
    b"data:",
    b"data: ",
    b"id: ",
    b"event: ",
    b"retry: ",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b",",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3",
    b"1e999",
    b"-0",
    b"18446744073709551616",
    b"null",
    b"=",
    b"#",
];

/// Returns one of the seeds, changed once or a few times.
pub(super) fn change(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut text = rng.pick(seeds).clone();
    for _ in 0..=rng.below(4) {
        change_once(rng, &mut text, seeds);
    }
    text
}

pub(super) fn change_once(rng: &mut Rng, text: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let at = rng.below(text.len() + 1);
    let end = (at + 1 + rng.below(16)).min(text.len());
    match rng.below(8) {
        0 if at < text.len() => text[at] ^= 1 << rng.below(8),
        1 if at < text.len() => text[at] = u8::try_from(rng.below(256)).unwrap_or_default(),
        2 => drop(text.drain(at..end)),
        3 => insert(text, at, WORDS[rng.below(WORDS.len())]),
        4 => {
            let piece = text[at..end].repeat(1 + rng.below(64));
            insert(text, at, &piece);
        }
        5 => text.truncate(at),
        6 => {
            let other = rng.pick(seeds);
            let from = rng.below(other.len() + 1);
            text.truncate(at);
            text.extend_from_slice(&other[from..]);
        }
        _ => {
            let piece: Vec<u8> = text[at..end].to_vec();
            let to = rng.below(text.len() + 1);
            insert(text, to, &piece);
        }
    }
}

fn insert(text: &mut Vec<u8>, at: usize, piece: &[u8]) {
    text.splice(at..at, piece.iter().copied());
}
