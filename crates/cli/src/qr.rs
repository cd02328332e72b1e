//! A link as a picture for a phone's camera, in a terminal's characters.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use qrcode::types::QrError;

/// The light dots are what is written, the dark ones what is left out: as it should be where the characters are lighter
/// than what is behind them. Not every camera reads the opposite.
pub(crate) fn picture(link: &str) -> Result<String, QrError> {
    let code = QrCode::new(link)?;
    Ok(code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "https://desk.example:8443/login#0123456789abcdef0123456789abcdef0123456789abcdef";

    /// The dark dots that a camera sees: each character is two dots, one above the other.
    fn seen(picture: &str) -> Vec<Vec<bool>> {
        let dots = |above: fn(char) -> bool, line: &str| line.chars().map(above).collect();
        let two =
            |line| [dots(|glyph| !matches!(glyph, '▀' | '█'), line), dots(|glyph| !matches!(glyph, '▄' | '█'), line)];
        picture.lines().flat_map(two).collect()
    }

    #[test]
    fn a_camera_reads_the_link() {
        let dots = seen(&picture(LINK).unwrap());
        // A camera sees each dot as several of its own.
        let zoom = 4;
        let dark = |x: usize, y: usize| if dots[y / zoom][x / zoom] { 0 } else { 255 };
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(dots[0].len() * zoom, dots.len() * zoom, dark);
        let (_, link) = image.detect_grids()[0].decode().expect("it is read");
        assert_eq!(link, LINK);
    }

    #[test]
    fn it_fits_a_terminal() {
        let picture = picture(LINK).unwrap();
        assert!(picture.lines().count() <= 24, "{picture}");
        assert!(picture.lines().all(|line| line.chars().count() <= 60), "{picture}");
    }
}
