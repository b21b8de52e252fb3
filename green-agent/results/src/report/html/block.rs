//! Compressed data in the page: zlib in base64, in a script element of a type that no browser runs. Base64 has no `<`, so
//! that no content can end the element.

use std::io::{self, Write};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use miniz_oxide::deflate::compress_to_vec_zlib;
use serde::Serialize;

/// The compression level, from 0 to 10.
const LEVEL: u8 = 6;

/// Writes blocks and counts their bytes.
pub(super) struct Blocks<W> {
    out: W,
    room: u64,
}

/// A block that is ready to be written.
pub(super) struct Block {
    name: String,
    packed: Vec<u8>,
}

impl Block {
    pub(super) fn new(name: String, content: &[u8]) -> Self {
        let packed = compress_to_vec_zlib(content, LEVEL);
        Self { name, packed }
    }

    pub(super) fn json(name: String, content: &impl Serialize) -> io::Result<Self> {
        Ok(Self::new(name, &serde_json::to_vec(content)?))
    }

    /// Returns its name and its compressed content.
    pub(super) fn into_parts(self) -> (String, Vec<u8>) {
        (self.name, self.packed)
    }

    /// Returns its size in the page.
    fn size(&self) -> u64 {
        (self.packed.len() as u64).div_ceil(3) * 4 + self.name.len() as u64 + 64
    }
}

impl<W: Write> Blocks<W> {
    /// Returns a writer with a limit of bytes.
    pub(super) fn new(out: W, room: u64) -> Self {
        Self { out, room }
    }

    /// Writes the blocks of one trial if there is room for all of them, and returns whether there was.
    pub(super) fn write(&mut self, blocks: &[Block]) -> io::Result<bool> {
        let size: u64 = blocks.iter().map(Block::size).sum();
        if size > self.room {
            return Ok(false);
        }
        self.room -= size;
        for Block { name, packed } in blocks {
            let content = STANDARD.encode(packed);
            writeln!(
                self.out,
                "<script type=\"text/plain\" id=\"block-{name}\">{content}</script>"
            )?;
        }
        Ok(true)
    }

    pub(super) fn json(&mut self, name: &str, content: &impl Serialize) -> io::Result<()> {
        self.write(&[Block::json(name.to_owned(), content)?])?;
        Ok(())
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }
}
