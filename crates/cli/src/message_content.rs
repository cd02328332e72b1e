//! What a person says, put together: words from arguments or stdin, files from disk.
//!
//! *Invariants:* words are UTF-8 and at most 1 MiB, a file at most 32 MiB; more is refused before
//! anything is sent, and never read whole.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use throughline_api::client::Client;
use throughline_api::content::{ContentBlock, Text};

use crate::failure::{Failure, Outcome};

/// The longest message.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// The largest file.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// A file to send along.
pub(crate) struct Attachment {
    name: String,
    mime: &'static str,
    bytes: Vec<u8>,
}

/// The words of the arguments, joined by spaces; `-` alone is all of stdin.
pub(crate) fn text(words: &[OsString]) -> Outcome<String> {
    if let [word] = words
        && word == "-"
    {
        return stdin_text(io::stdin().lock());
    }
    let mut joined = String::new();
    for word in words {
        let word = word.to_str().ok_or_else(|| Failure::invalid_utf8("the message"))?;
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    bounded(joined)
}

fn stdin_text(stdin: impl Read) -> Outcome<String> {
    let mut bytes = Vec::new();
    // One byte more tells that there is more; the rest is not read.
    stdin.take(MAX_TEXT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_TEXT_BYTES {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| Failure::invalid_utf8("the message"))
}

fn bounded(text: String) -> Outcome<String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(too_large());
    }
    Ok(text)
}

fn too_large() -> Failure {
    Failure::new(
        "message_too_large",
        format!("the message has more than {MAX_TEXT_BYTES} bytes, which is the most that is allowed"),
    )
    .hint("put it into a file and send that along: tl say \"see the file\" --attach FILE")
}

/// Reads the files to send along.
pub(crate) fn read_files(paths: &[PathBuf]) -> Outcome<Vec<Attachment>> {
    paths.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Outcome<Attachment> {
    let bad = |why: String| {
        Failure::new("bad_path", format!("`{}` cannot be sent along: {why}", path.display()))
            .hint("name a file that exists and can be read")
    };
    let file = File::open(path).map_err(|error| bad(error.to_string()))?;
    let metadata = file.metadata().map_err(|error| bad(error.to_string()))?;
    if metadata.is_dir() {
        return Err(bad("it is a folder".to_owned()));
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_str().ok_or_else(|| Failure::invalid_utf8("the file's name"))?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| bad(error.to_string()))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("`{name}` has more than {MAX_FILE_BYTES} bytes, which is the most that is allowed");
        return Err(Failure::new("blob_too_large", message)
            .hint("put it into the project's folder, where the agent can read it"));
    }
    Ok(Attachment { name: name.to_owned(), mime: mime(name, &bytes), bytes })
}

/// The blocks of a message; files go to the blob store first.
pub(crate) async fn blocks(client: &Client, text: &str, files: &[Attachment]) -> Outcome<Vec<ContentBlock>> {
    let mut blocks = Vec::with_capacity(files.len() + 1);
    if !text.is_empty() || files.is_empty() {
        blocks.push(ContentBlock::Text(Text::from(text.to_owned())));
    }
    for Attachment { name, mime, bytes } in files {
        let blob = client.put_blob(bytes.clone()).await?;
        let (name, mime) = (name.clone(), (*mime).to_owned());
        blocks.push(if mime.starts_with("image/") {
            let name = Some(name);
            ContentBlock::Image { blob, mime, name }
        } else {
            ContentBlock::File { blob, mime, name }
        });
    }
    Ok(blocks)
}

/// What kind of file it is: pictures by their name, text by its bytes.
fn mime(name: &str, bytes: &[u8]) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "json" => "application/json",
        "md" => "text/markdown",
        _ if std::str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn words_are_joined_as_typed() {
        let words = ["plan", "a;", "b"].map(OsString::from);
        assert_eq!(text(&words).expect("fine"), "plan a; b");
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_code() {
        let words = [OsString::from_vec(vec![0xff])];
        assert_eq!(text(&words).expect_err("no text").code, "invalid_utf8");
        assert_eq!(stdin_text(&[0xc3][..]).expect_err("cut").code, "invalid_utf8");
    }

    #[test]
    fn a_long_message_is_refused_and_the_longest_is_not() {
        let long = vec![b'a'; MAX_TEXT_BYTES + 1];
        assert_eq!(stdin_text(&long[..]).expect_err("long").code, "message_too_large");
        assert!(stdin_text(&long[1..]).is_ok());
    }

    #[test]
    fn a_file_is_what_its_name_or_its_bytes_say() {
        assert_eq!(mime("a.PNG", &[0xff]), "image/png");
        assert_eq!(mime("notes", b"text"), "text/plain");
        assert_eq!(mime("notes", &[0xff]), "application/octet-stream");
    }
}
