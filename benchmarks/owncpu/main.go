// SPDX-License-Identifier: Apache-2.0

// Command owncpu measures prywalk's own CPU time beside perf and other tools that unwind stacks without frame pointers;
// the method is in benchmarks/results/own-cpu.md.
//
//	go -C benchmarks run ./owncpu -docs benchmarks/results/own-cpu.md
//	go -C benchmarks run ./owncpu -rounds 2 -d 2s -threads 2 -freq 100   a short trial
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"prywalk/benchmarks/bench/tools"
	"prywalk/benchmarks/command"
	"prywalk/benchmarks/machine"
	"prywalk/benchmarks/markdown"
	"prywalk/benchmarks/overhead/peers"
)

type settings struct {
	threads, running, freqs []int
	peers                   []string
	rounds                  int
	length                  time.Duration
	binary, docs            string
}

func main() {
	command.Main("owncpu", func(ctx context.Context, args []string) error {
		s, err := parse(args)
		if err != nil {
			return err
		}
		return run(ctx, s)
	})
}

func parse(args []string) (*settings, error) {
	s := &settings{}
	fl := flag.NewFlagSet("owncpu", flag.ContinueOnError)
	threads := fl.String("threads", "2,100", "threads of the target in all, separated by commas")
	running := fl.String("running", "1,2", "how many of them compute")
	freqs := fl.String("freq", "100,1000", "samples a second")
	peers := fl.String("peers", "perf-dwarf,perf-dwarf64,samply",
		"tools besides prywalk: of those of benchmarks/overhead")
	fl.IntVar(&s.rounds, "rounds", 5, "how often each tool is measured")
	fl.DurationVar(&s.length, "d", 10*time.Second, "for how long a tool looks")
	fl.StringVar(&s.binary, "prywalk", "", "the program to measure (default: built from this checkout)")
	fl.StringVar(&s.docs, "docs", "", "put the table between the markers of this page")
	if err := fl.Parse(args); err != nil {
		return nil, err
	}
	for text, list := range map[*string]*[]int{threads: &s.threads, running: &s.running, freqs: &s.freqs} {
		for word := range strings.SplitSeq(*text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%q: give positive numbers separated by commas", *text)
			}
			*list = append(*list, n)
		}
	}
	if s.rounds < 1 || s.length <= 0 || fl.NArg() > 0 {
		return nil, fmt.Errorf("rounds and lengths must be positive, and there are no arguments besides flags: %q", fl.Args())
	}
	s.peers = strings.Split(*peers, ",")
	return s, nil
}

func run(ctx context.Context, s *settings) error {
	dir, err := os.MkdirTemp("", "prywalk-owncpu-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.binary, err = command.Prywalk(s.binary, dir); err != nil {
		return err
	}
	load := machine.Load()
	cells, notes, err := s.measure(ctx, dir)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s, Linux %s, load average %.1f before. Each tool for %v, n = %d rounds.\n\n%s%s",
		machine.CPUModel(), machine.Kernel(), load,
		s.length, s.rounds, table(cells), notes)
	if s.docs != "" {
		err = markdown.ReplaceSection(s.docs, "owncpu", func(string) string { return text })
	}
	_, _ = io.WriteString(os.Stdout, text)
	return err
}

func (s *settings) selectTools(dir string) (list []tools.Tool, notes string, err error) {
	list = []tools.Tool{tools.Prywalk()}
	all := peers.All()
	for _, name := range s.peers {
		i := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Name == name && t.For(tools.Native) })
		if i < 0 {
			return nil, "", fmt.Errorf("-peers: %q is none of the tools of benchmarks/overhead for native programs", name)
		}
		if err := all[i].Check(&tools.Job{Dir: filepath.Join(dir, "job")}); err != nil {
			notes += fmt.Sprintf("\n- %s left out: %v\n", name, err)
			continue
		}
		list = append(list, all[i])
	}
	return list, notes, nil
}

func shuffled(list []tools.Tool) []tools.Tool {
	list = slices.Clone(list)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
