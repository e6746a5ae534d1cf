//! Options for rendering a part of a picture.

use std::str::FromStr;

use glam::UVec2;

use super::Failure;
use crate::cluster::split_equally;
use crate::pathtrace::Tile;

/// Options that need the whole picture.
const WHOLE: [&str; 5] = ["ev", "tonemapping", "time", "error", "tolerance"];

#[derive(Clone, Debug, clap::Args)]
pub struct PartArguments {
    /// Render part I of N, some rows, into the folder FILE; radiosity merge joins all parts
    #[arg(long, value_name = "I/N", conflicts_with_all = WHOLE)]
    shard: Option<Shard>,
    /// Render a rectangle of pixels into the folder FILE: its left column, top row, columns and rows
    #[arg(long, value_name = "X,Y,WxH", conflicts_with = "shard", conflicts_with_all = WHOLE)]
    tile: Option<TileArgument>,
}

impl PartArguments {
    /// Returns the part of a picture that is requested, if not the whole.
    pub fn tile(&self, size: UVec2) -> Result<Option<Tile>, Failure> {
        if let Some(Shard { index, count }) = self.shard {
            if count > size.y {
                return Err(format!("--shard {index}/{count} has no row: the picture has {} rows", size.y).into());
            }
            let rows = split_equally(size.y, count).swap_remove(index as usize - 1);
            return Ok(Some(Tile::rows(size, rows)));
        }
        match self.tile {
            Some(TileArgument(tile)) if !tile.is_within(size) => {
                Err(format!("--tile is not within the picture of {} x {} pixels", size.x, size.y).into())
            }
            tile => Ok(tile.map(|TileArgument(tile)| tile)),
        }
    }
}

/// Part `index` of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shard {
    pub index: u32,
    pub count: u32,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        let shard = numbers.map(|(index, count)| Self { index, count });
        let is_part = |shard: &Self| (1..=shard.count).contains(&shard.index);
        shard.filter(is_part).ok_or_else(|| "give a part and the number of parts, such as 1/8 to 8/8".to_owned())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TileArgument(Tile);

impl FromStr for TileArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ',');
        let mut tile = || {
            let (x, y) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            let (width, height) = parts.next()?.split_once(['x', 'X'])?;
            let size = UVec2::new(width.parse().ok()?, height.parse().ok()?);
            Some(Self(Tile { origin: UVec2::new(x, y), size }))
        };
        tile().ok_or_else(|| "give left column, top row, columns and rows, such as 640,0,320x180".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: UVec2 = UVec2::new(20, 10);

    fn of_shard(text: &str) -> Result<Option<Tile>, Failure> {
        PartArguments { shard: Some(text.parse()?), tile: None }.tile(SIZE)
    }

    fn of_tile(text: &str) -> Result<Option<Tile>, Failure> {
        PartArguments { shard: None, tile: Some(text.parse()?) }.tile(SIZE)
    }

    #[test]
    fn shards_are_rows_from_the_top() {
        let rows = |rows| Some(Tile::rows(SIZE, rows));
        let shards = ["1/3", "2/3", "3/3", "1/1"].map(|text| of_shard(text).unwrap());
        assert_eq!(shards, [rows(0..4), rows(4..7), rows(7..10), rows(0..10)]);
        for text in ["0/3", "4/3", "1/11", "1", "1/0", "-1/2", "a/b", "1/2/3"] {
            of_shard(text).unwrap_err();
        }
    }

    #[test]
    fn tiles_lie_within_the_picture() {
        let tile = Tile { origin: UVec2::new(5, 2), size: UVec2::new(15, 8) };
        assert_eq!(of_tile("5,2,15x8").unwrap(), Some(tile));
        for text in ["5,2,16x8", "5,2,0x8", "5,2,15", "5,2", "-5,2,3x3", "1,2,3x4,5"] {
            of_tile(text).unwrap_err();
        }
    }
}
