//! Recognises typos: one letter missing, one added, or two neighbouring letters swapped.

/// The shortest word in which typos are recognised; a shorter word is more often another word.
const MIN_LENGTH: usize = 5;

/// Returns whether `word` may be a typo of `meant`. The first letter must be the same, and no letter may be
/// replaced: `Burton` and `Buxton` are two towns.
pub(super) fn is_typo_of(word: &str, meant: &str) -> bool {
    let (word, meant): (Vec<char>, Vec<char>) = (word.chars().collect(), meant.chars().collect());
    let is_long = word.len().min(meant.len()) >= MIN_LENGTH;
    is_long && word.first() == meant.first() && is_one_typo(&word, &meant)
}

fn is_one_typo(word: &[char], meant: &[char]) -> bool {
    let same = |(one, other): &(&char, &char)| one == other;
    let begin = word.iter().zip(meant).take_while(same).count();
    let (word, meant) = (&word[begin..], &meant[begin..]);
    match (word, meant) {
        ([], []) => true,
        ([_, rest @ ..], meant) if rest == meant => true,
        (word, [_, rest @ ..]) if rest == word => true,
        ([a, b, rest @ ..], [c, d, others @ ..]) => a == d && b == c && rest == others,
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_distinguished_from_other_words() {
        for (word, meant, expected) in [
            ("spaec", "space", true),
            ("urmstn", "urmston", true),
            ("avaliable", "available", true),
            ("vacanccy", "vacancy", true),
            ("space", "space", true),
            ("burton", "buxton", false),
            ("marlow", "harlow", false),
            ("town", "tow", false),
            ("spaecs", "space", false),
        ] {
            assert_eq!(is_typo_of(word, meant), expected, "{word} {meant}");
        }
    }
}
