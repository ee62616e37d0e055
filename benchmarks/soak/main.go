// SPDX-License-Identifier: Apache-2.0

// Command soak records a program whose processes and threads start and end all the time
// (internal/testtargets/src/churn.c). Each minute it prints what may grow: descriptors, memory, kept ticks, tables.
//
//	go -C benchmarks run ./soak --for 10m --births 80 --engine perf
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/sampler"
	"prywalk/internal/watch/target"
)

func main() {
	length := flag.Duration("for", 10*time.Minute, "how long")
	every := flag.Duration("every", time.Minute, "how often a row is printed")
	births := flag.Int("births", 80, "rounds a second: each a process, a thread and a piece of code; a library in 16")
	freq := flag.Float64("freq", 99, "ticks a second")
	engine := flag.String("engine", "ptrace", "how running threads are seen: ptrace or perf")
	heaps := flag.String("heaps", "", "a directory for a heap profile and a list of descriptors with each row")
	flag.Parse()
	if *heaps != "" {
		runtime.MemProfileRate = 1 << 12 // for small but numerous things
	}
	if err := soak(*length, *every, *births, *freq, *engine, *heaps); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(length, every time.Duration, births int, freq float64, engine, heaps string) error {
	dir, err := os.MkdirTemp("", "prywalk-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	exe, err := testtargets.Compile("churn.c", "-O1", "-ldl")
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, strconv.Itoa(births), dir)
	says, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer testtargets.Kill(cmd)
	if line, err := bufio.NewReader(says).ReadString('\n'); err != nil {
		return fmt.Errorf("the program says %q: %w", line, err)
	}
	r, err := newRun(cmd.Process.Pid, freq, dir, engine)
	if err != nil {
		return err
	}
	defer r.close()
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	go r.print(ctx, every, heaps)
	stats, err := r.sampler.Run(ctx)
	fmt.Printf("\n%d ticks, %d missed; %.2f s of the target, %.2f s in the profile; own %.2f s\n",
		stats.Ticks, stats.MissedTicks, stats.TargetCPU, stats.ProfiledCPU, stats.SelfCPU)
	return err
}

type run struct {
	images  *loadedcode.ImageCache
	builder *profile.Builder
	namer   *symbols.Namer
	sampler *sampler.Sampler
	events  *perfevents.Reader
	file    string
	yield   func() // called before each name
}

func newRun(pid int, freq float64, dir, engine string) (*run, error) {
	r := &run{images: loadedcode.NewImageCache(0), namer: symbols.NewNamer(), file: dir + "/soak.pb.gz"}
	p, err := r.images.Open(pid)
	if err != nil {
		return nil, err
	}
	r.builder = profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Duration(1e9 / freq), SpillTo: dir})
	r.namer.ReadPerfMapsInSteps()
	o := target.SamplingOptions{
		Freq: freq, Children: true, JITFuncBounds: r.namer.JITFuncBounds,
		Checkpoint: r.checkpoint, CheckpointEvery: 10 * time.Second,
	}
	switch engine {
	case "ptrace":
	case "perf":
		if r.events, err = perfevents.Open(perfevents.ReaderOptions{Freq: freq, Programs: true}); err != nil {
			return nil, err
		}
		r.events.Pause()
		o.Engine = &perfengine.Source{Events: r.events}
	default:
		return nil, fmt.Errorf("--engine %q: choose ptrace or perf", engine)
	}
	r.sampler = sampler.New(o, r.builder, r.images, []*loadedcode.Process{p})
	return r, nil
}

func (r *run) close() {
	_ = r.sampler.Close()
	if r.events != nil {
		r.events.Close()
	}
	_ = r.namer.Close()
	_ = r.images.Close()
}

func (r *run) checkpoint(c sampler.Checkpointing) {
	r.yield = c.Yield // files' names are not read in the background
	r.namer.SetYield(c.Yield)
	defer r.namer.SetYield(nil)
	if err := r.builder.WriteFile(r.file, r); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	r.namer.DropUnused()
}

func (r *run) IsFinal(m *profile.ModuleInfo) bool {
	return m.Origin.Module != nil && r.namer.NamesFinal(m.Origin.Module)
}

func (r *run) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	r.yield()
	if m.Origin.Module == nil {
		return nil
	}
	return r.namer.Frames(m.Origin.Module, m.Origin.PID, addr, nil)
}

func (r *run) print(ctx context.Context, every time.Duration, heaps string) {
	fmt.Println("| after | descriptors | memory (MB) | ticks kept | missed | own CPU a tick (µs) | modules | locations " +
		"| stacks | labels |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	began := time.Now()
	var last sampler.Progress
	lastCPU, _ := procmem.ProcessCPU(os.Getpid())
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		now := r.sampler.Progress()
		cpu, _ := procmem.ProcessCPU(os.Getpid())
		ticks, missed := now.Tracer.Ticks-last.Tracer.Ticks, now.Tracer.MissedTicks-last.Tracer.MissedTicks
		s := r.builder.Sizes()
		fmt.Printf("| %s | %d | %.0f | %.1f %% | %d | %.0f | %d | %d | %d | %d |\n", time.Since(began).Round(time.Second),
			descriptors(),
			memory(), 100*float64(ticks)/float64(max(ticks+missed, 1)), missed, float64(cpu-lastCPU)/1e3/float64(max(ticks, 1)),
			s.Modules, s.Locations, s.Stacks, s.Labels)
		if heaps != "" {
			if err := writeHeld(heaps, time.Since(began).Round(time.Second)); err != nil {
				fmt.Fprintln(os.Stderr, "soak:", err)
			}
		}
		last, lastCPU = now, cpu
	}
}

func descriptors() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

func memory() float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func writeHeld(dir string, at time.Duration) error {
	runtime.GC() // the profile is of the last collection
	heap, err := os.Create(filepath.Join(dir, at.String()+".heap"))
	if err != nil {
		return err
	}
	defer heap.Close()
	if err := pprof.WriteHeapProfile(heap); err != nil {
		return err
	}
	list, _ := os.ReadDir("/proc/self/fd")
	var text strings.Builder
	for _, e := range list {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		fmt.Fprintln(&text, to)
	}
	return os.WriteFile(filepath.Join(dir, at.String()+".files"), []byte(text.String()), 0o644)
}
