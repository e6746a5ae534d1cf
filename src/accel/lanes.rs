//! SIMD vectors of eight single-precision numbers.

/// Eight single-precision numbers. Every operation except [`Lanes::mul_sub`] rounds as its scalar counterpart does.
pub(super) trait Lanes: Copy {
    /// Returns the given value in all lanes.
    fn splat(value: f32) -> Self;
    /// Loads eight consecutive numbers.
    fn load(values: &[f32; 8]) -> Self;
    /// Returns the eight numbers as an array.
    fn store(self) -> [f32; 8];
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Returns `self * factor - less`, with or without fused rounding.
    fn mul_sub(self, factor: Self, less: Self) -> Self;
    fn div(self, other: Self) -> Self;
    /// Returns the minimum of each lane; `other` where either number is NaN.
    fn min(self, other: Self) -> Self;
    /// Returns the maximum of each lane; `other` where either number is NaN.
    fn max(self, other: Self) -> Self;
    /// Returns a bit for each lane where `self <= other`; zero where either number is NaN.
    fn at_most(self, other: Self) -> u32;
    /// Reorders the lanes. Hexadecimal digit `k` of `order`, counted from the lowest, names the source of lane `k`.
    fn permute(self, order: u32) -> Self;
    /// Returns a bit for each lane where `self == other`.
    fn equal(self, other: Self) -> u32;
    /// Returns the bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Returns the bitwise or.
    fn or(self, other: Self) -> Self;
    /// Returns a bit for each lane whose sign bit is set.
    fn signs(self) -> u32;
}

/// Portable implementation: plain loops.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Portable([f32; 8]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, operation: impl Fn(f32, f32) -> f32) -> Self {
        Self(core::array::from_fn(|lane| operation(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    fn bits(self, other: Self, condition: impl Fn(f32, f32) -> bool) -> u32 {
        (0..8).fold(0, |bits, lane| bits | u32::from(condition(self.0[lane], other.0[lane])) << lane)
    }
}

impl Lanes for Portable {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; 8])
    }
    #[inline(always)]
    fn load(values: &[f32; 8]) -> Self {
        Self(*values)
    }
    #[inline(always)]
    fn store(self) -> [f32; 8] {
        self.0
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn mul_sub(self, factor: Self, less: Self) -> Self {
        self.mul(factor).sub(less)
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> u32 {
        self.bits(other, |a, b| a <= b)
    }
    #[inline(always)]
    fn permute(self, order: u32) -> Self {
        Self(core::array::from_fn(|lane| self.0[(order >> (4 * lane)) as usize & 7]))
    }
    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        self.bits(other, |a, b| a == b)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self.zip(other, |a, b| f32::from_bits(a.to_bits() ^ b.to_bits()))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.zip(other, |a, b| f32::from_bits(a.to_bits() | b.to_bits()))
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        self.bits(self, |a, _| a.is_sign_negative())
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use core::arch::x86_64::*;

    use super::Lanes;

    /// One AVX2 register. Only functions that run after AVX2 and FMA were detected may use the type.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256);

    // SAFETY of every block below: the type is used only where AVX2 and FMA are known to exist (see above). Loads and
    // stores go through references to eight floats and need no alignment.
    impl Lanes for Avx2 {
        #[inline(always)]
        fn splat(value: f32) -> Self {
            Self(unsafe { _mm256_set1_ps(value) })
        }
        #[inline(always)]
        fn load(values: &[f32; 8]) -> Self {
            Self(unsafe { _mm256_loadu_ps(values.as_ptr()) })
        }
        #[inline(always)]
        fn store(self) -> [f32; 8] {
            let mut values = [0.0; 8];
            unsafe { _mm256_storeu_ps(values.as_mut_ptr(), self.0) };
            values
        }
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Self(unsafe { _mm256_add_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Self(unsafe { _mm256_sub_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Self(unsafe { _mm256_mul_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn mul_sub(self, factor: Self, less: Self) -> Self {
            Self(unsafe { _mm256_fmsub_ps(self.0, factor.0, less.0) })
        }
        #[inline(always)]
        fn div(self, other: Self) -> Self {
            Self(unsafe { _mm256_div_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn min(self, other: Self) -> Self {
            Self(unsafe { _mm256_min_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Self(unsafe { _mm256_max_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn at_most(self, other: Self) -> u32 {
            unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(self.0, other.0)) as u32 }
        }
        #[inline(always)]
        fn permute(self, order: u32) -> Self {
            Self(unsafe {
                let digits = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
                let order = _mm256_srlv_epi32(_mm256_set1_epi32(order as i32), digits);
                _mm256_permutevar8x32_ps(self.0, order)
            })
        }
        #[inline(always)]
        fn equal(self, other: Self) -> u32 {
            unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0)) as u32 }
        }
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            Self(unsafe { _mm256_xor_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn or(self, other: Self) -> Self {
            Self(unsafe { _mm256_or_ps(self.0, other.0) })
        }
        #[inline(always)]
        fn signs(self) -> u32 {
            unsafe { _mm256_movemask_ps(self.0) as u32 }
        }
    }
}
