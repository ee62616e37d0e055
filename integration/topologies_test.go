// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/show/chains"
	recordings "prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/topologies"
	"prywalk/report"
)

// shortestService is some of a service's requests.
const shortestService = 4 * time.Second

// maxShareError is by how many points a share of the blocked time may differ from the program's own. What ticks cannot
// tell, a few of them at each phase's begin and end, becomes small in long recordings; a constant error stays, and
// fails the test at the deadline.
const maxShareError = 3

// The chains of recordings have no link that is not the service's, and the first process's blocked time ends, and
// passes through links, within three points, where the programs say that it did.
func TestChainsOfRecordingsAreThoseThatTheProgramsWrite(t *testing.T) {
	for _, compiler := range []string{"gcc", "go"} {
		testtargets.NeedProgram(t, compiler)
	}
	programs, err := topologies.NewPrograms(t.TempDir(), testtargets.NeedProgram(t, "python3"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := topologies.Random(rand.New(rand.NewPCG(seed, 57)))
			checkService(t, &s, programs)
		})
	}
}

func checkService(t *testing.T, s *topologies.Service, programs topologies.Programs) {
	dir := scratch(t, nil)
	commands, err := s.Commands(programs, dir)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	list := []string{}
	for _, cmd := range commands {
		pids = append(pids, testtargets.Child(t, cmd).Process.Pid)
		list = append(list, fmt.Sprint(cmd.Process.Pid))
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
	}
	r := startRecording(t, nil, "-p", strings.Join(list, ","))
	last := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v\n%s", s, last)
		}
	})
	r.until("the shares of all ends and links are the programs'", func(*profile.Profile) bool {
		p, err := recordings.ReadFile(r.file) // as report does
		if err != nil {
			t.Fatal(err)
		}
		written := s.Written(dir)
		ends := written.Requests()
		if len(ends) == 0 {
			return false
		}
		from, to := p.TimeNanos, min(ends[len(ends)-1], p.TimeNanos+p.DurationNanos)
		if to-from < int64(shortestService) {
			return false
		}
		c := s.Compare(chainsOf(t, p, report.Options{To: time.Duration(to - from)}), pids, written, from, to)
		if last = fmt.Sprintf("%+v", *c); len(c.False) > 0 {
			t.Fatalf("false links: %q", c.False)
		}
		_, points := c.Worst()
		return c.Blocked > 0 && math.Abs(points) <= maxShareError
	})
	r.finish()
}

func chainsOf(t *testing.T, p *profile.Profile, o report.Options) *chains.Report {
	t.Helper()
	var out strings.Builder
	var got chains.Report
	if err := report.Chains(&out, p, true, o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	return &got
}
