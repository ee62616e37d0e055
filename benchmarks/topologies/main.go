// SPDX-License-Identifier: Apache-2.0

// Topologies measures how well chains of waits agree with random services whose chains are known.
//
//	go -C benchmarks run ./topologies -n 100               dumps and a recording of 3 s of each
//	go -C benchmarks run ./topologies -n 100 -dumps 0      only recordings; about six seconds each
//	go -C benchmarks run ./topologies -n 100 -nobody       as root: the services and prywalk run as the user nobody, who
//	                                                       must be allowed to execute -python
//	go -C benchmarks run ./topologies -seed 10 -n 1 -keep DIR
//
// A service is drawn from its seed (package internal/testtargets/topologies): processes in C, Python and Go, of which
// each asks the next one. The table has for each
//
//	dumps      that were made until one had the whole chain, while one phase of the service lasted; none: 0
//	requests   that ended during the recording
//	unknown    the share of the first process's blocked time whose end the report does not know, %
//	error      the greatest difference of a share, by end or by link, from what the programs wrote down, in points, and
//	           where: the process, by its place in the service, and its function
//	false      links that are not the service's, of the recording and of all dumps
//
// and below what disagrees, and why an end is not known.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/benchmarks/command"
	"prywalk/benchmarks/stats"
	"prywalk/internal/show/chains"
	recording "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/topologies"
	"prywalk/report"
)

func main() { command.Main("topologies", run) }

type measurement struct {
	n, dumps, seed int
	length         time.Duration
	nobody         bool
	flags          []string // of record
	exe, dir, keep string
	programs       topologies.Programs
	sum            summary
}

func run(ctx context.Context, args []string) error {
	m := &measurement{}
	flags := flag.NewFlagSet("topologies", flag.ContinueOnError)
	flags.IntVar(&m.n, "n", 10, "services")
	flags.IntVar(&m.seed, "seed", 0, "the seed of the first; those of the others follow")
	flags.IntVar(&m.dumps, "dumps", 20, "the most dumps of each; 0: none")
	flags.DurationVar(&m.length, "d", 3*time.Second, "length of a recording; 0: none")
	flags.BoolVar(&m.nobody, "nobody", false, "as root: run all as the user nobody")
	flags.StringVar(&m.exe, "prywalk", "", "the prywalk to measure; built if it is not given")
	flags.StringVar(&m.keep, "keep", "", "a directory for recordings that do not agree, and what was written")
	python := flags.String("python", "python3", "the interpreter")
	more := flags.String("record", "", "further flags of record, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m.flags = strings.Fields(*more)
	var err error
	if m.dir, err = os.MkdirTemp("", "prywalk-topologies-"); err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	if err := os.Chmod(m.dir, 0o755); err != nil {
		return err
	}
	if m.exe, err = command.Prywalk(m.exe, m.dir); err != nil {
		return err
	}
	if m.programs, err = topologies.NewPrograms(m.dir, *python); err != nil {
		return err
	}
	fmt.Println("seed\tservice\tdumps\trequests\tunknown\terror\tat\tfalse")
	for i := range m.n {
		if err := m.one(ctx, uint64(m.seed+i)); err != nil {
			return fmt.Errorf("seed %d: %w", m.seed+i, err)
		}
	}
	m.sum.print()
	return nil
}

// as makes a command run as the user nobody, and end with this program.
func (m *measurement) as(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if m.nobody {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: testtargets.Nobody.UID, Gid: testtargets.Nobody.GID}
	}
	return cmd
}

// service is one that runs.
type service struct {
	topologies.Service
	seed uint64
	dir  string
	pids []int
	list string // of pids
	stop func()
}

func (m *measurement) start(seed uint64, drawn topologies.Service, name string) (*service, error) {
	s := &service{Service: drawn, seed: seed, dir: filepath.Join(m.dir, name)}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	if m.nobody {
		if err := os.Chown(s.dir, int(testtargets.Nobody.UID), int(testtargets.Nobody.GID)); err != nil {
			return nil, err
		}
	}
	var begun []*exec.Cmd
	s.stop = func() {
		for _, cmd := range begun {
			testtargets.Kill(cmd)
		}
	}
	var list []string
	var err error
	s.pids, err = s.Start(m.programs, s.dir, func(cmd *exec.Cmd) error {
		if err := m.as(cmd).Start(); err != nil {
			return err
		}
		begun, list = append(begun, cmd), append(list, strconv.Itoa(cmd.Process.Pid))
		return nil
	})
	if err != nil {
		s.stop()
	}
	s.list = strings.Join(list, ",")
	return s, err
}

// until waits for the end of a request that ended after a time.
func (s *service) until(ctx context.Context, at int64) (topologies.Written, error) {
	for end := time.Now().Add(time.Minute); ctx.Err() == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		w := s.Written(s.dir)
		if ends := w.Requests(); len(ends) > 0 && ends[len(ends)-1] > at {
			return w, nil
		}
	}
	return nil, cmp.Or(ctx.Err(), fmt.Errorf("%v: no request ended within a minute", &s.Service))
}

func (m *measurement) one(ctx context.Context, seed uint64) error {
	r := row{}
	if m.dumps > 0 {
		if err := m.dump(ctx, seed, &r); err != nil {
			return err
		}
	}
	if m.length > 0 {
		if err := m.record(ctx, seed, &r); err != nil {
			return err
		}
	}
	m.sum.add(&r, m.dumps > 0, m.length > 0)
	drawn := topologies.Random(topologies.Numbers(seed))
	fmt.Printf("%d\t%v\t%d\t%d\t%.1f\t%+.1f\t%s\t%d\n", seed, &drawn, r.dumps, r.requests, 100*r.unknown, r.worst, r.at,
		len(r.wrongLinks))
	for _, text := range append(r.why, r.wrongLinks...) {
		fmt.Println("\t" + text)
	}
	return nil
}

// dump dumps a service in which one phase lasts, until a dump has the whole chain.
func (m *measurement) dump(ctx context.Context, seed uint64, r *row) error {
	numbers := topologies.Numbers(seed)
	drawn := topologies.Random(numbers)
	want := drawn.Stand(numbers)
	s, err := m.start(seed, drawn, fmt.Sprint("standing-", seed))
	if err != nil {
		return err
	}
	defer s.stop()
	got := ""
	for n := 1; n <= m.dumps; n++ {
		cmd := m.as(exec.CommandContext(ctx, m.exe, "dump", "--chains", "--json", "-p", s.list))
		var text, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &said
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("dump: %w: %s", err, &said)
		}
		var dumped chains.Report
		if err := json.Unmarshal(text.Bytes(), &dumped); err != nil {
			return fmt.Errorf("dump: %w: %s", err, &said)
		}
		whole, chain, wrong := topologies.Whole(&dumped, s.pids, want)
		if r.wrongLinks, got = append(r.wrongLinks, wrong...), chain; whole {
			r.dumps = n
			return nil
		}
		time.Sleep(100 * time.Millisecond) // it may start still
	}
	r.why = append(r.why, fmt.Sprintf("last dump: %s; want %s", got, want))
	return nil
}

func (m *measurement) record(ctx context.Context, seed uint64, r *row) error {
	s, err := m.start(seed, topologies.Random(topologies.Numbers(seed)), strconv.FormatUint(seed, 10))
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err = s.until(ctx, 0); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "r.pb.gz")
	args := append([]string{"record", "-q", "-p", s.list, "-d", m.length.String(), "-o", file}, m.flags...)
	if out, err := m.as(exec.CommandContext(ctx, m.exe, args...)).CombinedOutput(); err != nil {
		return fmt.Errorf("record: %w: %s", err, out)
	}
	p, err := recording.ReadFile(file)
	if err != nil {
		return err
	}
	w, err := s.until(ctx, p.TimeNanos+p.DurationNanos)
	if err != nil {
		return err
	}
	if err := r.compare(s, p, w); err != nil {
		return err
	}
	if m.keep != "" && (math.Abs(r.worst) > maxError || len(r.wrongLinks) > 0) {
		return os.CopyFS(filepath.Join(m.keep, filepath.Base(s.dir)), os.DirFS(s.dir))
	}
	return nil
}

// row is what is printed of a service.
type row struct {
	dumps, requests int
	unknown, worst  float64
	at              string
	wrongLinks      []string
	why             []string
}

// maxError is the greatest error that agrees, in points.
const maxError = 3

func (r *row) compare(s *service, p *profile.Profile, w topologies.Written) error {
	chain, err := topologies.ChainsOf(p, report.Options{})
	if err != nil {
		return err
	}
	from, to := p.TimeNanos, p.TimeNanos+p.DurationNanos
	c := s.Compare(chain, s.pids, w, from, to)
	for _, at := range w.Requests() {
		if at > from && at <= to {
			r.requests++
		}
	}
	r.at, r.worst = c.Worst()
	r.wrongLinks = append(r.wrongLinks, c.False...)
	if c.Blocked == 0 {
		r.at, r.worst = "no chain", 100
	}
	for _, share := range c.Unknown {
		r.unknown += share
	}
	if math.Abs(r.worst) <= maxError {
		return nil
	}
	for _, shares := range []struct {
		what string
		of   map[string]float64
	}{{"end", c.Ends}, {"link", c.Links}, {"unknown", c.Unknown}, {"in no phase", c.Others}} {
		for _, key := range slices.Sorted(maps.Keys(shares.of)) {
			if share := shares.of[key]; math.Abs(share) > 0.005 {
				r.why = append(r.why, fmt.Sprintf("%s %s: %+.1f", shares.what, key, 100*share))
			}
		}
	}
	return nil
}

// summary is of all services.
type summary struct {
	dumped, whole, most, recordings, agree, wrongLinks int
	errors, unknown                                    []float64
}

func (s *summary) add(r *row, dumped, recorded bool) {
	if dumped {
		s.dumped++
		s.most = max(s.most, r.dumps)
	}
	if r.dumps > 0 {
		s.whole++
	}
	s.wrongLinks += len(r.wrongLinks)
	if !recorded {
		return
	}
	if s.recordings++; math.Abs(r.worst) <= maxError {
		s.agree++
	}
	s.errors, s.unknown = append(s.errors, math.Abs(r.worst)), append(s.unknown, 100*r.unknown)
}

func (s *summary) print() {
	fmt.Printf("# false links: %d\n", s.wrongLinks)
	if s.dumped > 0 {
		fmt.Printf("# %d of %d services had a whole chain, after at most %d dumps\n", s.whole, s.dumped, s.most)
	}
	if s.recordings == 0 {
		return
	}
	slices.Sort(s.errors)
	fmt.Printf("# %d of %d recordings within %d points; greatest error: median %.1f, 9 of 10 at most %.1f, most %.1f; "+
		"unknown: median %.1f %%, most %.1f %%\n", s.agree, s.recordings, maxError, stats.Median(s.errors),
		stats.Quantile(s.errors, 0.9), slices.Max(s.errors), stats.Median(s.unknown), slices.Max(s.unknown))
}
