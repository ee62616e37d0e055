// SPDX-License-Identifier: Apache-2.0

package hotspot

// Numbers of 1 to 5 bytes, low first (compressedStream.cpp, utilities/unsigned5.hpp). A byte below 192 ends a number;
// others carry 6 bits. Since JDK 20 no byte is 0: all count from 1.
const (
	lgHighCodes    = 6
	highCodes      = 1 << lgHighCodes
	maxNumberBytes = 5
)

// unsigned5Reader decodes these numbers, 0 after an incomplete one.
type unsigned5Reader struct {
	b        []byte
	excluded byte
	failed   bool
}

func (s *unsigned5Reader) byte() byte {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

func (s *unsigned5Reader) number() uint32 {
	limit := uint32(256 - highCodes - int(s.excluded))
	sum := uint32(0)
	for i := range maxNumberBytes {
		c := s.byte()
		if c < s.excluded {
			s.failed = true
		}
		if s.failed {
			return 0
		}
		v := uint32(c - s.excluded)
		sum += v << (lgHighCodes * i)
		if v < limit {
			break
		}
	}
	return sum
}

// signed decodes a number with its sign in bit 0.
func (s *unsigned5Reader) signed() int32 {
	v := s.number()
	return int32(v>>1) ^ -int32(v&1)
}
