// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

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
	for seed := range testtargets.Times[uint64](2, 4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := topologies.Random(topologies.Numbers(seed))
			checkService(t, &s, programs)
		})
	}
}

func checkService(t *testing.T, s *topologies.Service, programs topologies.Programs) {
	dir := scratch(t, nil)
	var list []string
	pids, err := s.Start(programs, dir, func(cmd *exec.Cmd) error {
		list = append(list, fmt.Sprint(testtargets.Child(t, cmd).Process.Pid))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := startRecording(t, nil, "-p", strings.Join(list, ","))
	last := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v\n%s", s, last)
		}
	})
	r.untilFile("the shares of all ends and links are the programs'", func() bool {
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
		chain, err := topologies.ChainsOf(p, report.Options{To: time.Duration(to - from)})
		if err != nil {
			t.Fatal(err)
		}
		c := s.Compare(chain, pids, written, from, to)
		if last = fmt.Sprintf("%+v", *c); len(c.False) > 0 {
			t.Fatalf("false links: %q", c.False)
		}
		_, points := c.Worst()
		return c.Blocked > 0 && math.Abs(points) <= maxShareError
	})
	r.finish()
}
