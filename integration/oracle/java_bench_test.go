package oracle

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// BenchmarkJavaNames names the frames of one stopped stack of Known.java: all met before, or none.
func BenchmarkJavaNames(b *testing.B) {
	dir := b.TempDir()
	compileJavaInto(b, dir, "Known")
	for _, mode := range javaModes {
		s, err := StartJava(append([]string{"java", "-Xmx128m"}, append(mode.options, "-cp", dir, "Known")...), 2*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		for range 10 {
			if err := s.Sample(); err != nil {
				b.Fatal(err)
			}
		}
		n := s.names
		sample := managed.Sample{TID: s.TID, Regs: &s.regs, Mem: &s.snap, At: s.at, Live: s}
		walk := func(describe bool) {
			n.Begin(&sample)
			for i := range s.PCs {
				s.refs, _ = n.Native(&s.PCs[i], 0, s.refs[:0])
				for _, r := range s.refs {
					if describe {
						n.Describe(r, s, nil)
					}
				}
			}
			n.End()
		}
		named := 0
		for i := range s.PCs {
			s.refs, _ = n.Native(&s.PCs[i], 0, s.refs[:0])
			named += len(s.refs)
		}
		b.Run(mode.name+"/warm", func(b *testing.B) {
			b.ReportAllocs()
			from := usedCPU()
			for b.Loop() {
				walk(false)
			}
			b.ReportMetric(float64(usedCPU()-from)/float64(b.N*max(named, 1)), "cpu-ns/frame")
		})
		b.Run(mode.name+"/first", func(b *testing.B) {
			from, calls := usedCPU(), procmem.Calls()
			for b.Loop() {
				n.Forget()
				walk(true)
			}
			b.ReportMetric(float64(procmem.Calls()-calls)/float64(b.N*max(named, 1)), "reads/frame")
			b.ReportMetric(float64(usedCPU()-from)/float64(b.N*max(named, 1)), "cpu-ns/frame")
		})
		s.Close()
	}
}

// usedCPU gives the processor time of this process in nanoseconds: the machine may be busy.
func usedCPU() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
