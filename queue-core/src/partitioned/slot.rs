//! Slots of a Redis Cluster, by which partitions are placed.

/// The slots of a Redis Cluster.
pub(super) const SLOTS: usize = 16_384;

/// CRC16/XMODEM, by which Redis Cluster hashes tags: a checksum that can be continued.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Crc16(u16);

impl Crc16 {
    /// Goes on with these bytes.
    pub(super) fn with(self, bytes: &[u8]) -> Self {
        let shift = |crc: u16, _| (crc << 1) ^ if crc & 0x8000 != 0 { 0x1021 } else { 0 };
        let step = |crc: u16, byte: &u8| (0..8).fold(crc ^ (u16::from(*byte) << 8), shift);
        Self(bytes.iter().fold(self.0, step))
    }

    /// The slot of a tag.
    pub(super) const fn slot(self) -> usize {
        self.0 as usize % SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_checksum_of_the_clusters_specification() {
        let crc = Crc16::default().with(b"123456789");
        assert_eq!(crc.0, 0x31c3);
        assert_eq!(crc.slot(), 0x31c3);
        let continued = Crc16::default().with(b"1234").with(b"56789");
        assert_eq!(continued.0, crc.0);
        // As `CLUSTER KEYSLOT` answers.
        assert_eq!(Crc16::default().with(b"foo").slot(), 12_182);
        assert_eq!(Crc16::default().with(b"somekey").slot(), 11_058);
    }
}
