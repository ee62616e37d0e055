// SPDX-License-Identifier: Apache-2.0

// Command oracle steps real programs and compares the unwinder with the true caller chain; see package
// prywalk/integration/oracle.
//
//	go -C benchmarks run ./oracle -steps 10000000
//	go -C benchmarks run ./oracle -only libc -steps 50000 -show 5
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"prywalk/integration/oracle"
)

func main() {
	steps := flag.Int("steps", 1000000, "instructions to step through")
	section := flag.Int("section", 0, "the most of them between two marks")
	only := flag.String("only", "", "only this program")
	part := flag.String("part", "", "only sections with this in their names")
	show := flag.Int("show", 0, "wrong answers to show, for each way of walking")
	classes := flag.Int("classes", 25, "classes of failures to print")
	flag.Parse()
	if err := run(*steps, *section, *only, *part, *show, *classes); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(steps, section int, only, part string, show, classes int) error {
	dir, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var t oracle.Tally
	start := time.Now()
	programs := oracle.Programs
	if only == oracle.Split.Name {
		programs = []oracle.Program{oracle.Split}
	}
	for _, p := range programs {
		if !strings.Contains(p.Name, only) {
			continue
		}
		share := p.Share
		if only != "" {
			share = 1
		}
		file, err := p.Build(dir)
		if err != nil {
			return err
		}
		opt := oracle.Options{Steps: int(float64(steps) * share), Section: section, Only: part, Show: show,
			Log: func(f string, a ...any) {
				fmt.Printf(f+"\n", a...)
			}}
		if err := oracle.Run(p.Name, []string{file}, opt, &t); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	t.Write(os.Stdout, classes)
	took := time.Since(start)
	fmt.Printf("%d steps in %.1f s, %.1f µs a step\n", t.Steps(), took.Seconds(),
		took.Seconds()*1e6/float64(max(t.Steps(), 1)))
	if n, right, _ := t.Checked(oracle.WithCFI); right != n {
		return fmt.Errorf("with call frame information %d of %d chains are not exact", n-right, n)
	}
	return nil
}
