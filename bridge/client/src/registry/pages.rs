//! Reads the pages of a list (distribution specification, "Listing Tags").

/// The number of pages read of a list; a registry with more is assumed to repeat itself without end.
const MOST_PAGES: usize = 1000;

/// Collects the pages of a list. Each page starts after the last item of the previous one. The list ends with
/// a page that is empty or has nothing new, or at the limit.
#[derive(Debug, Default)]
pub(super) struct Pages {
    items: Vec<String>,
    most: usize,
    asked: usize,
    ended: bool,
}

impl Pages {
    /// Creates a list of at most this many items.
    pub(super) fn at_most(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Returns whether to fetch another page.
    pub(super) fn go_on(&self) -> bool {
        !self.ended && self.asked < MOST_PAGES && self.items.len() <= self.most
    }

    /// Returns the item after which the next page starts.
    pub(super) fn last(&self) -> Option<&str> {
        self.items.last().map(String::as_str)
    }

    pub(super) fn add(&mut self, page: Vec<String>) {
        let before = self.items.len();
        for item in page {
            if self.items.len() <= self.most && !self.items.contains(&item) {
                self.items.push(item);
            }
        }
        self.asked += 1;
        self.ended = self.items.len() == before;
    }

    /// Returns all items; `None` if there are too many.
    pub(super) fn all(self) -> Option<Vec<String>> {
        (self.items.len() <= self.most).then_some(self.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 3] = ["a", "b", "c"];

    fn paged(last: Option<&str>) -> Vec<String> {
        let after = ALL.iter().filter(|item| last.is_none_or(|last| **item > last));
        after.take(2).map(ToString::to_string).collect()
    }

    /// Returns everything at once, as a registry without paging does for each request.
    fn unpaged(_: Option<&str>) -> Vec<String> {
        ALL.map(str::to_owned).to_vec()
    }

    fn asked(server: fn(Option<&str>) -> Vec<String>, most: usize) -> (Option<Vec<String>>, usize) {
        let mut pages = Pages::at_most(most);
        while pages.go_on() {
            let page = server(pages.last());
            pages.add(page);
        }
        let asked = pages.asked;
        (pages.all(), asked)
    }

    #[test]
    fn pages_are_asked_for_until_one_brings_nothing_new() {
        for (server, times) in [(paged as fn(Option<&str>) -> Vec<String>, 3), (unpaged, 2)] {
            assert_eq!(asked(server, 3), (Some(unpaged(None)), times));
            assert_eq!(asked(server, 2).0, None);
        }
    }

    #[test]
    fn a_list_without_end_is_given_up() {
        let endless = |last: Option<&str>| vec![format!("{}x", last.unwrap_or_default())];
        assert_eq!(asked(endless, 10).0, None);
    }
}
