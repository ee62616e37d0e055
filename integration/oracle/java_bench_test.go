// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

func BenchmarkJavaNames(b *testing.B) {
	dir := b.TempDir()
	compileJavaInto(b, dir, "Known")
	for _, mode := range javaModes {
		s, err := StartJava(append([]string{"java", "-Xmx128m"}, append(mode.options, "-cp", dir, "Known")...), 2*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Until("Known.caught"); err != nil {
			b.Fatal(err)
		}
		n := s.names
		sample := managed.Sample{InnerTID: s.TID, Regs: &s.regs, Mem: &s.snap, At: s.at, Live: s}
		var reported []managed.Frame
		walk := func(describe bool) (named int) {
			n.Begin(&sample)
			s.refs = s.refs[:0]
			for i := range s.PCs {
				s.refs, _ = n.ManagedFrames(&s.PCs[i], 0, s.refs)
			}
			n.End()
			if !describe {
				return 0
			}
			for _, r := range s.refs {
				reported, _ = n.Symbolize(r, s, reported[:0])
				named += len(reported)
			}
			return named
		}
		named := walk(true)
		refs := len(s.refs)
		b.Run(mode.name+"/warm", func(b *testing.B) {
			b.ReportAllocs()
			from := usedCPU()
			for b.Loop() {
				walk(false)
			}
			b.ReportMetric(float64(usedCPU()-from)/float64(b.N*max(refs, 1)), "cpu-ns/frame")
		})
		b.Run(mode.name+"/first", func(b *testing.B) {
			b.ReportAllocs()
			from, calls, copied := usedCPU(), procmem.Calls(), procmem.Copied()
			for b.Loop() {
				n.Forget()
				walk(true)
			}
			used := float64(usedCPU() - from)
			b.ReportMetric(float64(procmem.Calls()-calls)/float64(b.N), "calls/stack")
			b.ReportMetric(float64(procmem.Copied()-copied)/float64(b.N), "bytes/stack")
			b.ReportMetric(used/float64(b.N*max(refs, 1)), "cpu-ns/frame")
			b.ReportMetric(used/float64(b.N*max(named, 1)), "cpu-ns/name")
			b.ReportMetric(float64(refs), "frames")
			b.ReportMetric(float64(named), "names")
		})
		s.Close()
	}
}

func usedCPU() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
