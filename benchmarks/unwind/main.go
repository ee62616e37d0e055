// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"prywalk/benchmarks/stats"
)

type settings struct {
	programs []string
	stacks   int
	rounds   int
}

func main() {
	var s settings
	programs := flag.String("programs", "redis,nginx,postgres,python,node,java,cpp,rust",
		"test targets whose stacks are walked")
	flag.IntVar(&s.stacks, "n", 200, "stacks of each program")
	flag.IntVar(&s.rounds, "rounds", 7, "rounds, in each of which every unwinder has its turn")
	flag.Parse()
	s.programs = strings.Split(*programs, ",")
	if err := s.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unwind:", err)
		os.Exit(1)
	}
}

func (s *settings) run(w io.Writer) error {
	dir, err := os.MkdirTemp("", "prywalk-unwind-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peers, err := buildPeers(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %d processors, %d stacks of each program, %d rounds; ns a frame: median (least to most).\n\n",
		runtime.Version(), runtime.NumCPU(), s.stacks, s.rounds)
	fmt.Fprintln(w, "| program | unwinder | warm | cold | first | frames | stacks right |\n|---|---|---|---|---|---|---|")
	for _, name := range s.programs {
		if err := s.program(w, dir, name, peers); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) program(w io.Writer, dir, name string, peers []peer) error {
	r, stop, err := record(name, s.stacks, 10*time.Minute)
	if err != nil {
		return err
	}
	defer stop()
	file := filepath.Join(dir, name)
	if err := r.save(file); err != nil {
		return err
	}
	results := map[string][]result{}
	for range s.rounds {
		results["prywalk"] = append(results["prywalk"], own(r, 100, 5))
		for i := range peers {
			got, err := peers[i].run(file)
			if err != nil {
				fmt.Fprintln(os.Stderr, "unwind:", err)
				continue
			}
			results[peers[i].name] = append(results[peers[i].name], got)
		}
	}
	for _, unwinder := range append([]string{"prywalk"}, names(peers)...) {
		if rs := results[unwinder]; len(rs) > 0 {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %d | %d of %d |\n", name, unwinder,
				spread(rs, func(r result) float64 { return r.Warm }), spread(rs, func(r result) float64 { return r.Cold }),
				spread(rs, func(r result) float64 { return r.First }),
				rs[0].Frames, rs[0].Right, rs[0].Stacks)
		}
	}
	return nil
}

func names(peers []peer) []string {
	var out []string
	for _, p := range peers {
		out = append(out, p.name)
	}
	return out
}

func spread(rs []result, value func(result) float64) string {
	var vs []float64
	for _, r := range rs {
		vs = append(vs, value(r))
	}
	low, high := slices.Min(vs), slices.Max(vs)
	if high == 0 {
		return "" // not measured
	}
	if high < 100 {
		return fmt.Sprintf("%.1f (%.1f to %.1f)", stats.Median(vs), low, high)
	}
	return fmt.Sprintf("%.0f (%.0f to %.0f)", stats.Median(vs), low, high)
}
