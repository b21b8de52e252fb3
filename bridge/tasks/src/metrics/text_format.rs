//! The two text formats of metrics, and the choice between them.

use std::borrow::Cow;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// OpenMetrics 1.0, which Prometheus prefers.
    OpenMetrics,
    /// The format 0.0.4 of Prometheus, which every scraper reads.
    Prometheus,
}

impl TextFormat {
    /// Returns the format for the values of the header `Accept`: OpenMetrics only if it is named and nothing says that text is
    /// preferred, as in the client libraries of Prometheus. Scrapers of any other header, or of none, get text.
    pub fn accepted<'a>(headers: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut open_metrics, mut plain) = (0.0, 0.0);
        for item in headers.into_iter().flat_map(|header| header.split(',')) {
            let mut fields = item.split(';').map(str::trim);
            let kind = fields.next().unwrap_or_default().to_ascii_lowercase();
            let quality = fields.find_map(|field| field.strip_prefix("q=")?.parse::<f32>().ok());
            let best = match kind.as_str() {
                "application/openmetrics-text" => &mut open_metrics,
                "text/plain" => &mut plain,
                _ => continue,
            };
            *best = quality.unwrap_or(1.0).max(*best);
        }
        match open_metrics > 0.0 && open_metrics >= plain {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts a text of OpenMetrics to this format. The older one has no units and no end, and describes a counter under the
    /// name of its samples.
    pub(super) fn convert(self, text: String) -> String {
        if self == Self::OpenMetrics {
            return text;
        }
        let mut converted = String::with_capacity(text.len());
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line == "# EOF" || line.starts_with("# UNIT ") {
                continue;
            }
            let described = line.strip_prefix("# HELP ").or(line.strip_prefix("# TYPE "));
            let name = described.and_then(|described| described.split(' ').next());
            // The line with the type is this one or the next.
            let is_counter = name.is_some_and(|name| {
                let kind = format!("# TYPE {name} counter");
                line == kind || lines.peek() == Some(&kind.as_str())
            });
            let line = match name.filter(|_| is_counter) {
                Some(name) => Cow::from(line.replacen(name, &format!("{name}_total"), 1)),
                None => Cow::from(line),
            };
            converted.push_str(&line);
            converted.push('\n');
        }
        converted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        for (headers, expected) in [
            (&[][..], TextFormat::Prometheus),
            (&["*/*"], TextFormat::Prometheus),
            (&["application/json"], TextFormat::Prometheus),
            (&["text/plain;version=0.0.4"], TextFormat::Prometheus),
            (&[prometheus], TextFormat::OpenMetrics),
            (&["application/openmetrics-text"], TextFormat::OpenMetrics),
            (&["Application/OpenMetrics-Text; version=0.0.1"], TextFormat::OpenMetrics),
            (&["text/plain", "application/openmetrics-text; q=0.5"], TextFormat::Prometheus),
            (&["application/openmetrics-text;q=0"], TextFormat::Prometheus),
        ] {
            let found = TextFormat::accepted(headers.iter().copied());
            assert_eq!(found, expected, "{headers:?}");
        }
    }

    #[test]
    fn counters_have_the_names_of_their_samples_in_the_older_format() {
        let text = "# HELP a Some\n# TYPE a counter\na_total{x=\"a\"} 1\n\
                    # HELP b_seconds More\n# TYPE b_seconds histogram\n# UNIT b_seconds seconds\nb_seconds_sum 0.5\n# EOF\n";
        let expected = "# HELP a_total Some\n# TYPE a_total counter\na_total{x=\"a\"} 1\n\
                        # HELP b_seconds More\n# TYPE b_seconds histogram\nb_seconds_sum 0.5\n";
        assert_eq!(TextFormat::Prometheus.convert(text.to_owned()), expected);
        assert_eq!(TextFormat::OpenMetrics.convert(text.to_owned()), text);
    }
}
