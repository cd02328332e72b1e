//! Table: rows of short texts, aligned in columns by what a terminal shows of them.
//!
//! Refuses borders and wrapping. Widths count characters, with wide East Asian ones as two.

use crate::output::{Output, Style};

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    /// A cell; the text must be safe already.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), style: None }
    }

    /// Painted.
    pub(crate) fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style: Some(style) }
    }
}

/// The rows with two spaces between columns, each line with its newline. The last column is not padded.
pub(crate) fn table(output: Output, rows: &[Vec<Cell>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| width(&cell.text)).max().unwrap_or_default()
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        let mut gap = 0;
        for (cell, width_max) in row.iter().zip(&widths) {
            if cell.text.is_empty() {
                gap += width_max + 2;
                continue;
            }
            line.push_str(&" ".repeat(gap));
            match cell.style {
                Some(style) => line.push_str(&output.paint(style, &cell.text)),
                None => line.push_str(&cell.text),
            }
            gap = width_max - width(&cell.text) + 2;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// How many columns of a terminal a text takes, nearly.
pub(crate) fn width(text: &str) -> usize {
    text.chars()
        .map(|letter| match u32::from(letter) {
            0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f300..=0x1f64f
            | 0x1f900..=0x1f9ff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_blanks() {
        let rows = [
            vec![Cell::new("a"), Cell::new("b"), Cell::new("")],
            vec![Cell::new("修复"), Cell::new(""), Cell::new("end")],
        ];
        assert_eq!(table(Output::plain(), &rows), "a     b\n修复     end\n");
    }
}
