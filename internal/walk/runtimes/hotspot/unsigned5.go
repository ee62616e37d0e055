// SPDX-License-Identifier: Apache-2.0

package hotspot

// Numbers have 1 to 5 bytes, low first (compressedStream.cpp, utilities/unsigned5.hpp). A byte below 192 ends a
// number; others carry 6 bits. Since JDK 20 all bytes count from 1.
const (
	lgHighCodes    = 6
	highCodes      = 1 << lgHighCodes
	maxNumberBytes = 5
)

// unsigned5Reader returns 0 after an incomplete number.
type unsigned5Reader struct {
	b        []byte
	excluded byte // nameLayout.excludedCodes
	failed   bool
}

func (r *unsigned5Reader) byte() byte {
	if len(r.b) == 0 {
		r.failed = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *unsigned5Reader) number() uint32 {
	limit := uint32(256 - highCodes - int(r.excluded))
	sum := uint32(0)
	for i := range maxNumberBytes {
		c := r.byte()
		if c < r.excluded {
			r.failed = true
		}
		if r.failed {
			return 0
		}
		v := uint32(c - r.excluded)
		sum += v << (lgHighCodes * i)
		if v < limit {
			break
		}
	}
	return sum
}

// signed reads a number whose sign is bit 0.
func (r *unsigned5Reader) signed() int32 {
	v := r.number()
	return int32(v>>1) ^ -int32(v&1)
}
