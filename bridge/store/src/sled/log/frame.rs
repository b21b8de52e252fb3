//! The frame of a record, by which a torn or changed record is recognised.
//!
//! | bytes | |
//! |-|-|
//! | 4 | the length of the record in bytes, at least one |
//! | 4 | CRC-32 of the bytes behind it |
//! | 8 | the number of its batch; the highest bit is set in the batch's last record |
//! | rest | the record |
//!
//! Numbers are big endian. A batch is written and fsynced at once. After a crash any part of the last batch may be there;
//! all batches before it are complete.

/// The bytes before a record.
pub(in crate::sled) const HEADER: usize = 16;

/// The bytes of a record's length.
const LENGTH: usize = 4;

const LAST: u64 = 1 << 63;

/// A record with the data of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'b> {
    pub(super) batch: u64,
    /// Whether no record of the same batch follows.
    pub(super) is_last: bool,
    pub(super) record: &'b [u8],
}

/// Leaves room for a header; the record is written behind it.
pub(super) fn begin(buffer: &mut Vec<u8>) {
    buffer.extend([0; HEADER]);
}

/// Completes the header of a frame, which is all of `frame`.
pub(super) fn seal(frame: &mut [u8], batch: u64, is_last: bool) {
    let length = (frame.len() - HEADER) as u32;
    let batch = if is_last { batch | LAST } else { batch };
    frame[8..HEADER].copy_from_slice(&batch.to_be_bytes());
    let sum = crc32fast::hash(&frame[8..]);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame[4..8].copy_from_slice(&sum.to_be_bytes());
}

impl<'b> Frame<'b> {
    /// The frame at the beginning of `bytes`, if a whole one is there.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Self> {
        let batch = batch(bytes)?;
        let length = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
        let summed = bytes.get(8..HEADER + length)?;
        let sum = u32::from_be_bytes(*bytes[4..].first_chunk()?);
        if length == 0 || crc32fast::hash(summed) != sum {
            return None;
        }
        Some(Self {
            batch: batch & !LAST,
            is_last: batch & LAST != 0,
            record: &summed[8..],
        })
    }

    /// Its size with the header, in bytes.
    pub(super) fn len(&self) -> usize {
        HEADER + self.record.len()
    }
}

fn batch(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(8..)?.first_chunk()?))
}

/// Whether a whole frame of a batch later than `batch` begins anywhere in `bytes`.
pub(super) fn holds_later(bytes: &[u8], batch: u64) -> bool {
    let mut at = 0;
    while let Some((found, frame)) = find(&bytes[at..], batch) {
        if frame.batch > batch {
            return true;
        }
        at += found + frame.len();
    }
    false
}

/// The first whole frame in `bytes` of the batch `batch` or of one that comes soon after it, and the position of the
/// frame. Few positions look like a frame, so that few sums have to be computed.
pub(super) fn find(bytes: &[u8], batch: u64) -> Option<(usize, Frame<'_>)> {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() > HEADER) {
        // Most of these bytes are zeros, and there may be many: no length of a record is zero.
        let zeros = rest.iter().position(|byte| *byte != 0)?;
        if zeros >= LENGTH {
            at += zeros + 1 - LENGTH;
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
    /// Like [`Frame::read`], but skips frames of batches that cannot come soon after `batch`.
    pub(super) fn read_near(bytes: &'b [u8], batch: u64) -> Option<Self> {
        let found = self::batch(bytes)? & !LAST;
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
    fn a_frame_comes_back_whole_or_not_at_all() {
        let whole = frame(b"record", 7, true);
        let read = Frame::read(&whole).unwrap();
        assert_eq!(
            (read.batch, read.is_last, read.record),
            (7, true, &b"record"[..])
        );
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
    fn later_frames_are_found_behind_anything() {
        let [same, later] = [7, 8].map(|batch| frame(b"record", batch, true));
        let zeros = vec![0; 100];
        let behind = |frame: &[u8]| [b"anything", &zeros[..], frame, &zeros].concat();
        assert!(holds_later(&behind(&later), 7));
        assert!(holds_later(&behind(&[same.clone(), later].concat()), 7));
        assert!(!holds_later(&behind(&same), 7));
        assert!(!holds_later(&zeros, 7));
        let found = find(&behind(&same), 7).map(|(at, frame)| (at, frame.batch));
        assert_eq!(found, Some((108, 7)));
    }
}
