//! A link as a picture for a phone's camera, in a terminal's characters.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use qrcode::types::QrError;

/// Light on dark: terminals are mostly dark, and cameras read both.
pub(crate) fn picture(link: &str) -> Result<String, QrError> {
    let code = QrCode::new(link)?;
    Ok(code.render::<Dense1x2>().dark_color(Dense1x2::Dark).light_color(Dense1x2::Light).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_a_terminal() {
        let picture =
            picture("https://desk.example:8443/login#0123456789abcdef0123456789abcdef0123456789abcdef").unwrap();
        assert!(picture.lines().count() <= 24, "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 60), "{picture}");
    }
}
