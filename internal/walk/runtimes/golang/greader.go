// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// # Many g's in few reads
//
// The heap has g's side by side in spans (mspan): 17 of 480 bytes in 8 KiB (Go 1.26). A region costs as much as
// copying 4 KiB.
//
//	span  g g g g g g …  │ stacks …           │ span  g g g g …
//	      └── region 1 ──┘                            └ region 2 ┘      one call for many
const (
	regionBytes = 64 << 10
	callBytes   = 256 << 10 // of a call: fits the CPU's cache
	regionGap   = 4 << 10   // within a region
)

type gReader struct {
	host  managed.Host
	buf   []byte
	parts []frames.Region
	ends  []int
	alone [goroutineBytes]byte
}

func newGReader(h managed.Host) *gReader { return &gReader{host: h, buf: make([]byte, callBytes)} }

// each calls f with each g, which is valid during the call, or with nil for an unreadable one. Ascending addresses need
// fewest reads.
func (r *gReader) each(at []uint64, f func(i int, g []byte)) {
	for done := 0; done < len(at); {
		r.parts, r.ends = r.parts[:0], r.ends[:0]
		from, used := done, 0
		for done < len(at) && len(r.parts) < procmem.MaxParts {
			n := done + 1
			for n < len(at) && at[n] > at[n-1] && at[n]-at[n-1] <= regionGap &&
				at[n]-at[done] <= regionBytes-goroutineBytes {
				n++
			}
			size := int(at[n-1]-at[done]) + goroutineBytes
			if used+size > len(r.buf) {
				break
			}
			r.parts = append(r.parts, frames.Region{Addr: at[done], Bytes: r.buf[used : used+size]})
			r.ends = append(r.ends, n)
			used, done = used+size, n
		}
		managed.ReadRegions(r.host, r.host, r.parts, func(unreadable *frames.Region) { unreadable.Bytes = nil })
		for k, p := range r.parts {
			for ; from < r.ends[k]; from++ {
				f(from, r.recordAt(&p, at[from]))
			}
		}
	}
}

func (r *gReader) recordAt(region *frames.Region, at uint64) []byte {
	if region.Bytes != nil {
		return region.Bytes[at-region.Addr:][:goroutineBytes]
	}
	b := r.alone[:]
	if r.host.Read(at, b) != len(b) {
		return nil
	}
	return b
}
