//! The partition of a key.

/// The partition of messages with this key, among `of` partitions: the top of a 64-bit FNV-1a hash, mixed by
/// MurmurHash3's last steps. Stored messages were placed by this function, so it never changes.
pub(super) fn partition(key: &[u8], of: usize) -> usize {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut hash = key.iter().fold(0xcbf2_9ce4_8422_2325, step);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash ^= hash >> 33;
        hash = u64::wrapping_mul(hash, factor);
    }
    hash ^= hash >> 33;
    // The share of all hashes; it is below `of`.
    ((u128::from(hash) * of as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keys_partition_never_changes() {
        let partitions = (0..12).map(|n| partition(format!("customer-{n}").as_bytes(), 8));
        assert_eq!(
            partitions.collect::<Vec<_>>(),
            [7, 5, 2, 2, 7, 4, 7, 4, 3, 5, 7, 7]
        );
    }

    #[test]
    fn keys_are_even_over_any_number_of_partitions() {
        for of in 1..=64 {
            let mut keys = vec![0_usize; of];
            for key in 0..200 * of {
                keys[partition(key.to_string().as_bytes(), of)] += 1;
            }
            let (least, most) = (keys.iter().min().unwrap(), keys.iter().max().unwrap());
            assert!(*least > 130 && *most < 270, "{of} partitions: {keys:?}");
        }
    }
}
