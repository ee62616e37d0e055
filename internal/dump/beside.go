// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/internal/observe"
	"prywalk/internal/waits"
)

// beside copies a lock's memory after another Extra.
type beside struct {
	observe.ExtraRegion
	buf [waits.Around]byte
}

func besides(inner observe.Extra) *beside {
	b := &beside{}
	b.Inner, b.Bytes = inner, b.buf[:]
	return b
}

func (b *beside) copyIn(s *observe.RawSample) waits.Copy {
	for i := range s.Mem.Others {
		if r := &s.Mem.Others[i]; r.Addr == b.Addr && len(r.Bytes) <= waits.Around {
			return copyOf(waits.Copy{Addr: r.Addr, Bytes: r.Bytes})
		}
	}
	return waits.Copy{}
}
