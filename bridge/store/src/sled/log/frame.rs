//! The frame of a record, by which a torn or changed record is detected.
//!
//! | bytes | |
//! |-|-|
//! | 4 | the length of the record in bytes, at least one |
//! | 4 | CRC-32 of the bytes after it |
//! | 8 | the number of its batch; the highest bit is set in the batch's last record |
//! | rest | the record |
//!
//! Numbers are big endian. A batch is written and fsynced at once. After a crash any part of the last batch may be on the
//! disk; all batches before it are complete.

/// The size of the header before a record, in bytes.
pub(in crate::sled) const HEADER: usize = 16;

/// The size of the field with a record's length, in bytes.
const LENGTH_BYTES: usize = 4;

const LAST_FLAG: u64 = 1 << 63;

/// A frame with its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'b> {
    pub(super) batch: u64,
    /// Whether the record is the last one of its batch.
    pub(super) is_last: bool,
    pub(super) record: &'b [u8],
}

/// Begins a frame with an empty header. The record is appended after it.
pub(super) fn begin(buffer: &mut Vec<u8>) {
    buffer.extend([0; HEADER]);
}

/// Writes the header of a complete frame.
pub(super) fn seal(frame: &mut [u8], batch: u64, is_last: bool) {
    let length = (frame.len() - HEADER) as u32;
    let batch = if is_last { batch | LAST_FLAG } else { batch };
    frame[8..HEADER].copy_from_slice(&batch.to_be_bytes());
    let sum = crc32fast::hash(&frame[8..]);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame[4..8].copy_from_slice(&sum.to_be_bytes());
}

impl<'b> Frame<'b> {
    /// Returns the frame at the beginning of `bytes`, if it is complete and valid.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Self> {
        let batch = batch(bytes)?;
        let length = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
        let summed = bytes.get(8..HEADER + length)?;
        let sum = u32::from_be_bytes(*bytes[4..].first_chunk()?);
        if length == 0 || crc32fast::hash(summed) != sum {
            return None;
        }
        Some(Self {
            batch: batch & !LAST_FLAG,
            is_last: batch & LAST_FLAG != 0,
            record: &summed[8..],
        })
    }

    /// Returns the size with the header, in bytes.
    pub(super) fn len(&self) -> usize {
        HEADER + self.record.len()
    }
}

fn batch(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(8..)?.first_chunk()?))
}

/// Returns whether `bytes` contain a valid frame of a batch later than `batch`.
pub(super) fn contains_later(bytes: &[u8], batch: u64) -> bool {
    let mut at = 0;
    while let Some((found, frame)) = find(&bytes[at..], batch) {
        if frame.batch > batch {
            return true;
        }
        at += found + frame.len();
    }
    false
}

/// Returns the first valid frame in `bytes` of the batch `batch` or of one soon after it, with the position of the frame.
/// Few positions look like a frame, so few checksums are computed.
pub(super) fn find(bytes: &[u8], batch: u64) -> Option<(usize, Frame<'_>)> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() > HEADER) {
        // Most of these bytes may be zeros, which are skipped: the length of a record is never zero.
        let zeros = rest.iter().position(|byte| *byte != 0)?;
        if zeros >= LENGTH_BYTES {
            at += zeros + 1 - LENGTH_BYTES;
            continue;
        }
        if let Some(frame) = Frame::read_near(rest, batch) {
            return Some((at, frame));
        }
        at += 1;
    }
    None
}

impl<'b> Frame<'b> {
    /// Reads a frame as [`Frame::read`] does, if its batch is `batch` or one soon after it.
    pub(super) fn read_near(bytes: &'b [u8], batch: u64) -> Option<Self> {
        let found = self::batch(bytes)? & !LAST_FLAG;
        let is_near = found >= batch && found - batch < 1 << 32;
        is_near.then(|| Self::read(bytes))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(record: &[u8], batch: u64, is_last: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        begin(&mut bytes);
        bytes.extend(record);
        seal(&mut bytes, batch, is_last);
        bytes
    }

    #[test]
    fn only_complete_and_unchanged_frames_are_read() {
        let whole = frame(b"record", 7, true);
        let read = Frame::read(&whole).unwrap();
        assert_eq!((read.batch, read.is_last, read.record), (7, true, &b"record"[..]));
        for end in 0..whole.len() {
            assert_eq!(Frame::read(&whole[..end]), None, "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(Frame::read(&changed), None, "changed at {at}");
        }
        assert_eq!(Frame::read(&[0; 64]), None);
    }

    #[test]
    fn later_frames_are_found_after_other_bytes() {
        let [same, later] = [7, 8].map(|batch| frame(b"record", batch, true));
        let zeros = vec![0; 100];
        let behind = |frame: &[u8]| [b"anything", &zeros[..], frame, &zeros].concat();
        assert!(contains_later(&behind(&later), 7));
        assert!(contains_later(&behind(&[same.clone(), later].concat()), 7));
        assert!(!contains_later(&behind(&same), 7));
        assert!(!contains_later(&zeros, 7));
        let found = find(&behind(&same), 7).map(|(at, frame)| (at, frame.batch));
        assert_eq!(found, Some((108, 7)));
    }
}
