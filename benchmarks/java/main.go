// SPDX-License-Identifier: Apache-2.0

// Command java measures the cost of profilers on a Java program (src/Shop.java), and whether their shares are true: the
// program measures the CPU time of its five stages. See benchmarks/results/java.md.
//
//	scripts/setup-java-load.sh bin/java-load   libraries and async-profiler, from Maven's repository
//	make build
//	go -C benchmarks run ./java                prywalk, async-profiler and JFR, 100 Hz
//	go -C benchmarks run ./java -freq 1000
//	go -C benchmarks run ./java -only prywalk -sleepers 0,100,500,2000
//	go -C benchmarks run ./java -attach 15 -options "-Xcomp -XX:ReservedCodeCacheSize=400m"
//	go -C benchmarks run ./java -reuse 20s -freq 1000 -warm 2s
//
// -attach measures how soon a machine with 20,000 compiled methods is read; -reuse counts wrong names of methods with
// reused memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/command"
)

var (
	loadDir  = flag.String("load", "bin/java-load", "what scripts/setup-java-load.sh has fetched")
	java     = flag.String("java", "java", "the Java program")
	options  = flag.String("options", "-Xmx512m", "options of the virtual machine, separated by spaces")
	workers  = flag.Int("workers", 2, "threads that work")
	sleepers = flag.String("sleepers", "0", "threads that wait, besides; several, separated by commas")
	freq     = flag.Int("freq", 100, "samples a second")
	rounds   = flag.Int("rounds", 7, "rounds")
	limit    = flag.Duration("limit", 3*time.Hour, "begin no round after this time")
	warm     = flag.Duration("warm", 50*time.Second, "time for the program's code to be compiled")
	window   = flag.Duration("window", 2500*time.Millisecond, "length of a window")
	only     = flag.String("only", "", "tools to measure: "+strings.Join(toolNames, ", "))
	attach   = flag.Int("attach", 0, "measure only how soon so many recordings and dumps have names, and their memory")
	reuse    = flag.Duration("reuse", 0, "count only wrong names of methods whose memory is used again, for so long")
	binary   = flag.String("binary", "bin/prywalk", "prywalk's file")
)

func main() { command.Main("java", run) }

const settle = 500 * time.Millisecond

func run(ctx context.Context, args []string) error {
	if err := flag.CommandLine.Parse(args); err != nil {
		return err
	}
	names, err := command.Only(*only, toolNames)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "prywalk-java-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *reuse > 0 {
		return measureReuse(ctx, dir)
	}
	end := time.Now().Add(*limit)
	for text := range strings.SplitSeq(*sleepers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-sleepers: %w", err)
		}
		if err := target(ctx, dir, names, n, end); err != nil {
			return err
		}
	}
	return nil
}

func target(ctx context.Context, dir string, names []string, sleeping int, end time.Time) error {
	s, err := startShop(ctx, dir, sleeping)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pause(ctx, *warm); err != nil {
		return err
	}
	if *attach > 0 {
		return measureAttach(ctx, s, dir)
	}
	tools := make([]*tool, 0, len(names))
	for _, name := range names {
		tools = append(tools, newTool(name, s.pid(), filepath.Join(dir, name)))
	}
	if err := firstJFR(ctx, s, tools); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(1, uint64(sleeping)))
	done := 0
	for ; done < *rounds && time.Now().Before(end); done++ {
		if err := round(ctx, s, tools, rng); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d workers, %d sleepers, %d Hz, %d rounds\n\n", *workers, sleeping, *freq, done)
	show(tools)
	return nil
}

// recompiled is the time until the code that the first start of JFR dropped is compiled again.
const recompiled = 40 * time.Second

// firstJFR starts JFR once: its first start puts events into classes and drops their compiled code.
func firstJFR(ctx context.Context, s *shop, tools []*tool) error {
	for i, t := range tools {
		if t.name != "jfr" {
			continue
		}
		if _, err := t.measure(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		tools[i] = newTool(t.name, s.pid(), t.dir)
		return pause(ctx, recompiled)
	}
	return nil
}

func round(ctx context.Context, s *shop, tools []*tool, rng *rand.Rand) error {
	var bare stretch
	got := make([]stretch, len(tools))
	for _, i := range rng.Perm(len(tools) + 1) {
		if i < len(tools) {
			w, err := tools[i].measure(ctx, s)
			if err != nil {
				return fmt.Errorf("%s: %w", tools[i].name, err)
			}
			got[i] = w
			continue
		}
		err := pause(ctx, settle)
		if err == nil {
			bare, err = s.window(ctx)
		}
		if err != nil {
			return err
		}
	}
	for i, t := range tools {
		t.without.Add(bare.waits)
		t.ratios = append(t.ratios, got[i].rate/bare.rate)
		t.each = append(t.each, got[i].each/bare.each)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
