// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

var programs = []string{"redis", "python", "node", "java", "cpp"}

func recorded(b *testing.B, name string) *recording {
	b.Helper()
	r, stop, err := record(name, 200, 10*time.Minute)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stop)
	return r
}

func perFrame(b *testing.B, took time.Duration, frames int) {
	b.ReportMetric(float64(took)/float64(frames), "ns/frame")
	b.ReportMetric(float64(frames)/float64(b.N), "frames/op")
}

func BenchmarkWalkWarm(b *testing.B) {
	for _, name := range programs {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := recorded(b, name)
			stacks, space := prepare(&r.file), r.process.Space()
			var w frames.Walker
			for i := range stacks {
				if !stacks[i].right(&w, space) {
					b.Fatalf("stack %d is not walked as when it was recorded: %v", i, w.StopReason())
				}
			}
			b.ReportAllocs()
			n, i := 0, 0
			begin := cpuTime()
			for b.Loop() {
				n += stacks[i].walk(&w, space)
				if i++; i == len(stacks) {
					i = 0
				}
			}
			perFrame(b, cpuTime()-begin, n)
		})
	}
}

func BenchmarkWalkCold(b *testing.B) {
	walkAfter(b, func(r *recording) { r.process.Space().Forget() })
}

func BenchmarkWalkFirst(b *testing.B) {
	walkAfter(b, func(r *recording) { r.process.DropCaches() })
}

func walkAfter(b *testing.B, drop func(*recording)) {
	for _, name := range programs {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := recorded(b, name)
			stacks, space := prepare(&r.file), r.process.Space()
			var w frames.Walker
			for i := range stacks {
				stacks[i].walk(&w, space)
			}
			b.ReportAllocs()
			n, i := 0, 0
			var took time.Duration
			cost := clockCost()
			for b.Loop() {
				drop(r)
				begin := cpuTime()
				n += stacks[i].walk(&w, space)
				took += cpuTime() - begin - cost
				if i++; i == len(stacks) {
					i = 0
				}
			}
			perFrame(b, took, n)
		})
	}
}

func BenchmarkReady(b *testing.B) {
	for _, name := range []string{"node", "java", "chromium"} {
		b.Run(name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var r *recording
			if name == "chromium" {
				r = recordedChromium(b)
			} else {
				r = recorded(b, name)
			}
			stack := &prepare(&r.file)[0]
			var w frames.Walker
			b.ReportAllocs()
			var took time.Duration
			for b.Loop() {
				begin := cpuTime()
				p, err := loadedcode.Open(r.process.PID)
				if err != nil {
					b.Fatal(err)
				}
				if stack.walk(&w, p.Space()) == 0 {
					b.Fatal("no frame")
				}
				took += cpuTime() - begin
				p.Close()
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(entries(r.process)), "FDEs")
		})
	}
}
