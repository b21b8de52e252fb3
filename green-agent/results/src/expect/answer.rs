//! Checks the answer to a turn of a conversation.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    check_values, place, text,
    written::{any_of, expected},
};
use green_agent_scenario::expectation::{AnswerCheck, Check};

/// An agent's answer to a turn.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The whole text, and then the text of each artifact. A check of the text holds if it holds for one of them.
    pub texts: Vec<String>,
    /// The answer's data; of several, a list.
    pub data: Option<Value>,
}

impl Answer {
    /// Returns the answer with the JSON in its text as its data, so that several checks do not read the text again.
    #[must_use]
    pub fn with_json(mut self) -> Self {
        if self.data.is_none() {
            self.data = Some(self.json().into_owned());
        }
        self
    }

    /// Checks the answer. The error says what was expected and what is there.
    ///
    /// # Errors
    /// What was expected and what is there, if the answer is not as wanted.
    pub fn check(&self, wanted: &AnswerCheck) -> Result<(), String> {
        match wanted.path.is_none().then(|| text_check(&wanted.check)).flatten() {
            Some(check) => self.check_text(check, wanted.not),
            None => self.check_json(wanted),
        }
    }

    fn check_text(&self, check: TextCheck<'_>, not: bool) -> Result<(), String> {
        let must_hold = check.must_hold != not;
        if self.texts.iter().any(|text| (check.holds)(text)) == must_hold {
            return Ok(());
        }
        let [holding, other] = check.phrases;
        let phrase = if must_hold { holding } else { other };
        Err(format!("expected an answer {phrase}, got {:?}", self.text()))
    }

    fn check_json(&self, wanted: &AnswerCheck) -> Result<(), String> {
        let AnswerCheck { not, path, check, .. } = wanted;
        let json = self.json();
        let nodes = place::select(&json, path.as_ref());
        let absence = || place::absence(path.as_ref(), "the answer", &json);
        check_values(check, &nodes, path.as_ref(), *not, absence).map_err(|actual| {
            format!("expected {}, got {actual}", expected(check, path.as_ref(), *not))
        })
    }

    fn text(&self) -> &str {
        self.texts.first().map(String::as_str).unwrap_or_default()
    }

    /// Returns the data, or the JSON in the text, or the text if it has none.
    fn json(&self) -> Cow<'_, Value> {
        let in_text = || self.texts.iter().find_map(|text| json_in(text)).map(Cow::Owned);
        let data = self.data.as_ref().map(Cow::Borrowed);
        data.or_else(in_text).unwrap_or_else(|| Cow::Owned(self.text().into()))
    }
}

/// Returns the JSON of a text that is JSON, or that has fenced blocks with JSON; the last of several, because models show drafts
/// and examples first.
fn json_in(text: &str) -> Option<Value> {
    let blocks = text.split("```").skip(1).step_by(2);
    let fenced = |block: &str| {
        let (_language, content) = block.split_once('\n')?;
        serde_json::from_str(content).ok()
    };
    serde_json::from_str(text).ok().or_else(|| blocks.filter_map(fenced).last())
}

/// A check of the answer's text.
struct TextCheck<'a> {
    holds: Box<dyn Fn(&str) -> bool + 'a>,
    /// Whether it passes if it holds, or if it does not.
    must_hold: bool,
    /// What an answer is for which it holds, and what one is for which it does not.
    phrases: [String; 2],
}

/// Returns the check of a text; `None` if it is about other values too.
fn text_check(check: &Check) -> Option<TextCheck<'_>> {
    let text_check = match check {
        Check::Eq(Value::String(wanted)) | Check::Ne(Value::String(wanted)) => TextCheck {
            // Streams often end with a line feed.
            holds: Box::new(|answer| text::nfc(answer.trim()) == text::nfc(wanted.trim())),
            must_hold: matches!(check, Check::Eq(_)),
            phrases: [format!("that is {wanted:?}"), format!("that is not {wanted:?}")],
        },
        Check::Contains(Value::String(wanted)) => TextCheck {
            holds: Box::new(|answer| text::contains(answer, wanted)),
            must_hold: true,
            phrases: [format!("with {wanted:?}"), format!("without {wanted:?}")],
        },
        Check::ContainsAny(texts) => TextCheck {
            holds: Box::new(|answer| text::contains_any(answer, texts)),
            must_hold: true,
            phrases: ["with one of ", "without "].map(|with| with.to_owned() + &any_of(texts)),
        },
        Check::Matches(regex) => TextCheck {
            holds: Box::new(|answer| text::matches(answer, regex)),
            must_hold: true,
            phrases: [format!("that matches {regex}"), format!("that does not match {regex}")],
        },
        Check::Eq(_)
        | Check::Ne(_)
        | Check::Contains(_)
        | Check::Gt(_)
        | Check::Ge(_)
        | Check::Lt(_)
        | Check::Le(_)
        | Check::Schema(_)
        | Check::Exists(_)
        | Check::Count(_) => return None,
    };
    Some(text_check)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use green_agent_scenario::{
        expectation::ValuePath,
        model::{Evaluator, Green},
    };

    fn answer(texts: &[&str]) -> Answer {
        Answer { texts: texts.iter().map(|&text| text.to_owned()).collect(), data: None }
    }

    fn wanted(path: Option<&str>, check: Check) -> AnswerCheck {
        let path = path.map(|path| ValuePath::Pointer(path.to_owned()));
        AnswerCheck { line: 1, not: false, path, check }
    }

    /// Returns the errors of a check and of its negation.
    fn both(answer: &Answer, mut check: AnswerCheck) -> [Option<String>; 2] {
        let plain = answer.check(&check).err();
        check.not = true;
        [plain, answer.check(&check).err()]
    }

    #[test]
    fn a_check_of_a_text_and_its_negation_disagree() {
        let answer = answer(&["Paris, \nFrance\n", "Paris, France\n"]);
        let regex = |text| Check::Matches(regex::Regex::new(text).unwrap());
        for (check, holds, error) in [
            (Check::Contains(json!("Paris, France")), true, "without \"Paris, France\""),
            (Check::Contains(json!("Berlin")), false, "with \"Berlin\""),
            (regex("(?i)^paris"), true, "that does not match (?i)^paris"),
            (regex("Lyon"), false, "that matches Lyon"),
            (Check::Eq(json!("Paris, France")), true, "that is not \"Paris, France\""),
            (Check::Ne(json!("Paris, France")), false, "that is not \"Paris, France\""),
            (Check::Ne(json!("Paris")), true, "that is \"Paris\""),
        ] {
            let [plain, negated] = both(&answer, wanted(None, check));
            assert_eq!((plain.is_none(), negated.is_none()), (holds, !holds), "{error}");
            let expected = format!("expected an answer {error}, got \"Paris, \\nFrance\\n\"");
            assert_eq!(plain.or(negated), Some(expected));
        }
    }

    #[test]
    fn the_json_of_an_answer_is_its_data_or_in_its_text() {
        let fenced = "First a draft:\n```json\n{\"city\": \"Lyon\"}\n```\nBetter:\n```\n{\"city\": \"Paris\"}\n```\nDone.";
        let data =
            Answer { data: Some(json!({"city": "Paris"})), ..answer(&["{\"city\": \"Lyon\"}"]) };
        for found in [
            answer(&[" {\"city\": \"Paris\"}\n"]),
            answer(&["Done\n{}x", "{\"city\": \"Paris\"}"]),
            answer(&[fenced]),
            data,
        ] {
            let check = wanted(Some("/city"), Check::Eq(json!("Paris")));
            assert_eq!(found.check(&check), Ok(()), "{found:?}");
            assert_eq!(found.with_json().check(&check), Ok(()));
        }
        let number = answer(&["41"]);
        assert_eq!(number.check(&wanted(None, Check::Ge(41.0))), Ok(()));
        let error = number.check(&wanted(None, Check::Ge(42.0)));
        assert_eq!(error, Err("expected a number of at least 42.0, got 41".to_owned()));
    }

    #[test]
    fn an_absent_value_fails_a_check_and_its_negation() {
        for (texts, error) in [
            (
                "{\"town\": 1}",
                "expected \"Paris\" at /city, got nothing at /city; the answer has: town",
            ),
            (
                "It is Paris.",
                "expected \"Paris\" at /city, got nothing at /city; the answer is \"It is Paris.\"",
            ),
        ] {
            let [plain, negated] =
                both(&answer(&[texts]), wanted(Some("/city"), Check::Eq(json!("Paris"))));
            assert_eq!(plain.as_deref(), Some(error));
            assert!(negated.is_some());
        }
    }

    #[test]
    fn any_of_several_texts_is_found_in_either_form_of_its_letters() {
        let scenario = green_agent_scenario::testing::scenario_of(
            "[green_agent]\n[[participants]]\nrole = 'a'\nendpoint = 'http://h'\n\
             [config]\nevaluator = 'conversation'\n\
             [[config.turn]]\nto = 'a'\ntext = ''\ncontains_any = ['(the', \"cafe\\u0301\"]\n",
        );
        let Green::Builtin(Evaluator::Conversation(conversation)) = scenario.green else {
            panic!("the evaluator is a conversation");
        };
        let check = &conversation.turns[0].expect[0];
        for right in ["a caf\u{e9}", "a cafe\u{301}", "(the"] {
            assert_eq!(answer(&[right]).check(check), Ok(()));
        }
        let error = answer(&["a bar"]).check(check).unwrap_err();
        let expected = "expected an answer with one of \"(the\", \"cafe\\u{301}\", got \"a bar\"";
        assert_eq!(error, expected);
    }
}
