// SPDX-License-Identifier: Apache-2.0

// Command busyhost makes the table of benchmarks/results/busy-host.md: what sampling costs programs on a busy host if
// the profiler runs as an ordinary user, and how much of their CPU time then has samples. As root, it runs all as
// nobody.
//
//	make bench-busy                                                         the whole table
//	go -C benchmarks run ./busyhost -only Python -load 4 -n 2 -prywalk OLD,NEW     two builds, in turn
//
// A program counts its own work, in the same process with each tool and twice without, in random order. The mean of
// these two is 100 %, so that the row "none" shows the noise. Ctrl-C ends it with the table of what was measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/markdown"
	"prywalk/internal/testtargets"
)

func main() { command.Main("busyhost", measure) }

type bench struct {
	dir    string
	length time.Duration
	loads  []string
	tools  []tool
	rounds int
	raw    *os.File
	host   string // revision and machine
}

func measure(ctx context.Context, args []string) (err error) {
	b := bench{}
	flags := flag.NewFlagSet("busyhost", flag.ContinueOnError)
	loads := flags.String("load", "4,16", "processes that only compute, beside the program")
	only := flags.String("only", "", "names of the programs, separated by commas (default: all)")
	engines := flags.String("engines", "auto,ptrace,perf", "values of prywalk's --engine")
	builds := flags.String("prywalk", "", "builds of prywalk (default: of this checkout)")
	docs := flags.String("docs", "", "put the table between the markers of this page")
	raw := flags.String("raw", os.DevNull, "write each measurement to this file")
	from := flags.String("from", "", "make the table of such a file (-d: its length), and measure nothing")
	flags.IntVar(&b.rounds, "n", 5, "measurements of a row")
	flags.DurationVar(&b.length, "d", 5*time.Second, "length of a measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	got := results{}
	if *from != "" {
		err = got.readFile(*from)
	} else {
		b.loads = strings.Split(*loads, ",")
		err = b.measureAll(ctx, *only, *builds, *engines, *raw, got)
	}
	if err != nil {
		return err
	}
	text := got.text(&b)
	fmt.Print(text)
	if *docs == "" {
		return nil
	}
	return markdown.ReplaceSection(*docs, "busyhost", func(string) string { return text })
}

func (b *bench) measureAll(ctx context.Context, only, builds, engines, raw string, got results) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	if b.raw, err = os.Create(raw); err != nil {
		return err
	}
	defer b.raw.Close()
	b.host = command.Revision() + ", " + host()
	if b.dir, err = os.MkdirTemp("", "prywalk-busyhost-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if err := b.prepare(ctx, chosen, builds, strings.Split(engines, ",")); err != nil {
		return err
	}
	return b.rowsInTurn(ctx, chosen, got)
}

// prepare makes what a user without rights can run.
func (b *bench) prepare(ctx context.Context, chosen []program, builds string, engines []string) error {
	programs := filepath.Join(b.dir, "programs")
	err := errors.Join(os.Chmod(b.dir, 0o755), os.CopyFS(b.dir, sources), os.Chmod(programs, 0o777))
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if len(p.build) == 0 {
			continue
		}
		cmd := exec.CommandContext(ctx, p.build[0], p.build[1:]...)
		cmd.Dir = programs
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build %s: %w: %s", p.name, err, out)
		}
	}
	list := strings.Split(builds, ",")
	if builds == "" {
		list = []string{filepath.Join(b.dir, "prywalk")}
		if err := testtargets.BuildPrywalk(list[0]); err != nil {
			return err
		}
	}
	return b.addTools(list, engines)
}

// rowsInTurn measures in rounds, so that a change of the host's other load is in all rows.
func (b *bench) rowsInTurn(ctx context.Context, chosen []program, got results) error {
	for range b.rounds {
		for _, load := range b.loads {
			err := b.ofLoad(ctx, load, chosen, got)
			if ctx.Err() != nil && len(got) > 0 {
				return nil // Ctrl-C
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) ofLoad(ctx context.Context, load string, chosen []program, got results) error {
	n, err := strconv.Atoi(load)
	if err != nil {
		return err
	}
	for range n {
		busy := b.command(ctx, "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			return err
		}
		defer func() { _, _ = busy.Process.Kill(), busy.Wait() }()
	}
	for _, p := range chosen {
		if err := b.measure(ctx, load, p, got); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return ctx.Err()
}

// patience bounds the time of one program beside its measurements: most is its start on a busy host.
const patience = 3 * time.Minute

func (b *bench) measure(ctx context.Context, load string, p program, got results) error {
	ctx, cancel := context.WithTimeout(ctx, patience+2*time.Duration(len(b.tools))*b.length)
	defer cancel()
	s, err := b.start(ctx, p)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := s.report(); err != nil { // has begun
		return err
	}
	time.Sleep(2 * time.Second) // its start is not measured
	var bare []outcome
	with := results{}
	for _, i := range rand.Perm(len(b.tools)) {
		t := b.tools[i]
		if !t.takes(p.name) {
			continue
		}
		o, err := b.window(ctx, s, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if len(t.args) == 0 {
			bare = append(bare, o)
		} else {
			with[row{load, p.name, t.name}] = []outcome{o}
		}
	}
	with[row{load, p.name, none}] = bare
	return got.addRound(with, bare, b.raw)
}

// command has a group of its own, so that Ctrl-C reaches this program only.
func (b *bench) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(b.dir, "programs")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: testtargets.Nobody.UID, Gid: testtargets.Nobody.GID}
	}
	return cmd
}

func choose(only string) ([]program, error) {
	var known []string
	for _, p := range programs {
		known = append(known, p.name)
	}
	names, err := command.Only(only, known)
	var chosen []program
	for _, p := range programs {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	return chosen, err
}
