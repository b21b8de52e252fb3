//! Splits a text into words with the gaps between them, and reads the numbers among them.

/// The words for the numbers below twenty, from nought.
const SMALL: &str = "\
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen \
    sixteen seventeen eighteen nineteen";

/// The words for the tens from twenty.
const TENS: &str = "twenty thirty forty fifty sixty seventy eighty ninety";

/// Contractions such as `he's`, as they are written without the apostrophe.
const CONTRACTED: [(&str, &str); 4] =
    [("hes", "he"), ("shes", "she"), ("whos", "who"), ("theyre", "they")];

/// A run of letters and digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    /// The text as written, without `'s`.
    pub(super) raw: String,
    /// The same in lowercase.
    pub(super) word: String,
    /// The text between the previous token and this one: spaces and punctuation.
    pub(super) gap: String,
    /// Whether `'s` or `'re` followed: `he's 9`.
    pub(super) is_form_of_be: bool,
    /// The number in the token, with the letters attached to it.
    pub(super) number: Option<Number>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: i64,
    /// The letters directly before the digits: `u` in `U10`.
    pub(super) before: String,
    /// The letters directly after the digits: `yo` in `10yo`.
    pub(super) behind: String,
    /// Whether the number is written as an amount: `0161` is not.
    pub(super) is_plain: bool,
}

impl Token {
    /// Returns whether the token begins a sentence.
    pub(super) fn begins(&self) -> bool {
        self.gap.contains(['.', '!', '?', '\n', ':', ';'])
    }

    /// Returns whether the first letter is a capital.
    pub(super) fn is_capital(&self) -> bool {
        self.raw.starts_with(char::is_uppercase)
    }

    /// Returns whether the word is one of these.
    pub(super) fn is(&self, words: &str) -> bool {
        is_among(&self.word, words)
    }
}

/// The tokens around a token, by their distance.
pub(super) struct Neighbours<'a> {
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
}

impl<'a> Neighbours<'a> {
    pub(super) fn before(&self, distance: usize) -> Option<&'a Token> {
        self.tokens.get(self.at.checked_sub(distance)?)
    }

    pub(super) fn after(&self, distance: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + distance)
    }

    pub(super) fn is_before(&self, distance: usize, words: &str) -> bool {
        self.before(distance).is_some_and(|token| token.is(words))
    }

    /// Returns whether a token in the same sentence follows at this distance.
    pub(super) fn is_after(&self, distance: usize, words: &str) -> bool {
        let ends = (1..=distance).any(|one| self.after(one).is_none_or(Token::begins));
        !ends && self.after(distance).is_some_and(|token| token.is(words))
    }

    pub(super) fn gap_after(&self) -> &'a str {
        self.after(1).map_or("", |token| token.gap.as_str())
    }

    /// Returns whether one of the words is among the given number of tokens before, in the same sentence.
    pub(super) fn is_near(&self, distance: usize, words: &str) -> bool {
        let mut token = self.tokens.get(self.at);
        for one in 1..=distance {
            if token.is_none_or(Token::begins) {
                return false;
            }
            token = self.before(one);
            if token.is_some_and(|token| token.is(words)) {
                return true;
            }
        }
        false
    }
}

/// Returns whether a word is one of these, which spaces separate.
pub(super) fn is_among(word: &str, words: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Splits a text into tokens. A number of tens and ones is one token: `twenty-one`.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut gap = "\n".to_owned();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !first.is_alphanumeric() {
            gap.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && !is_apostrophe(c));
        let (written, after) = rest.split_at(end.unwrap_or(rest.len()));
        let token = token(written, std::mem::take(&mut gap));
        match tokens.last_mut().and_then(|last| joined(last, &token)) {
            Some(number) => tokens.last_mut().into_iter().for_each(|last| {
                last.number = Some(number.clone());
            }),
            None => tokens.push(token),
        }
        rest = after;
    }
    tokens
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

fn token(written: &str, gap: String) -> Token {
    let mut pieces = written.splitn(2, is_apostrophe);
    let raw = pieces.next().unwrap_or_default();
    let ending = pieces.next().unwrap_or_default().to_lowercase();
    let lower = raw.to_lowercase();
    let contracted = CONTRACTED.iter().find(|(written, _)| *written == lower);
    let word = contracted.map_or(lower, |(_, word)| (*word).to_owned());
    Token {
        raw: raw.to_owned(),
        gap,
        is_form_of_be: contracted.is_some() || matches!(ending.as_str(), "s" | "re" | "m"),
        number: number(&word),
        word,
    }
}

/// Joins `twenty` and `one` into one number.
fn joined(last: &Token, next: &Token) -> Option<Number> {
    let (tens, ones) = (last.number.as_ref()?, next.number.as_ref()?);
    let is_tens = last.is(TENS) && tens.value % 10 == 0;
    let is_ones = (1..10).contains(&ones.value) && next.is(SMALL);
    let fits = is_tens && is_ones && matches!(next.gap.as_str(), " " | "-");
    fits.then(|| Number { value: tens.value + ones.value, ..tens.clone() })
}

fn number(word: &str) -> Option<Number> {
    let place = |words: &str, word: &str| words.split(' ').position(|one| one == word);
    let singular = word.strip_suffix('s').filter(|one| one.len() > 2);
    let named = |word: &str| {
        let small = place(SMALL, word);
        small.or_else(|| place(TENS, word).map(|tens| 20 + 10 * tens))
    };
    // A plural number, such as `twelves` in "under twelves".
    let plural = singular.and_then(|word| named(word).or_else(|| named(word.strip_suffix('e')?)));
    if let Some(value) = named(word).or(plural) {
        let plain = plain(i64::try_from(value).ok()?);
        let behind = if named(word).is_some() { "" } else { "s" };
        return Some(Number { behind: behind.to_owned(), ..plain });
    }
    let begin = word.find(|c: char| c.is_ascii_digit())?;
    let digits = &word[begin..];
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let (digits, behind) = digits.split_at(end.unwrap_or(digits.len()));
    Some(Number {
        before: word[..begin].to_owned(),
        behind: behind.to_owned(),
        is_plain: digits.len() < 3 && !digits.starts_with('0'),
        ..plain(digits.parse().unwrap_or(i64::MAX))
    })
}

fn plain(value: i64) -> Number {
    Number { value, before: String::new(), behind: String::new(), is_plain: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_words_and_digits() {
        for (text, expected) in [
            ("ten-year-old", vec![10]),
            ("Twenty-one and forty two", vec![21, 42]),
            ("under twelves, under sixes, U10s", vec![12, 6, 10]),
            ("seven and 8yo", vec![7, 8]),
            ("0161 is a phone, someone tends to often", vec![161]),
            ("", vec![]),
        ] {
            let tokens = tokens(text);
            let numbers = tokens.iter().filter_map(|one| one.number.as_ref());
            let values: Vec<i64> = numbers.map(|number| number.value).collect();
            assert_eq!(values, expected, "{text}");
        }
    }

    #[test]
    fn forms_of_be_and_sentences_are_known() {
        let tokens = tokens("He\u{2019}s 9. Urmston's club");
        assert!(tokens[0].is_form_of_be && tokens[0].begins() && !tokens[1].begins());
        assert_eq!((tokens[2].raw.as_str(), tokens[2].begins()), ("Urmston", true));
    }
}
