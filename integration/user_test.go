// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func yama() int {
	text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

func TestOrdinaryUserRecordsOwnProcess(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"c", "go", "redis"} {
		t.Run(name, func(t *testing.T) {
			if name != "c" {
				testtargets.OnlyInAll(t, "another language")
			}
			target := testtargets.Run(t, name, testtargets.Options{User: ordinary()})
			if yama() > 0 {
				r := command{args: []string{"record", "-d", "1", "-p", strconv.Itoa(target.PID)}, user: ordinary()}.run(t)
				r.must(t, 3).oneLine(t, "ptrace_scope")
				return
			}
			r := recordUntilAs(t, ordinary(), "enough samples", hasExpected(target.Expect), "-p", strconv.Itoa(target.PID))
			checkAccounting(t, r.stats)
			checkIncomplete(t, r, target.Expect)
			checkFunctions(t, r.Profile, target.Expect)
		})
	}
}

func TestOrdinaryUserRecordsLaunchedCommand(t *testing.T) {
	t.Parallel()
	target := testtargets.Run(t, "c", testtargets.Options{User: ordinary()})
	recordLongEnough(t, func(seconds string) *profile.Profile {
		dir := scratch(t, ordinary())
		c := command{args: []string{"record", "--", target.Exe, seconds}, user: ordinary(), dir: dir}
		c.run(t).must(t, 128+14)
		return readProfile(t, filepath.Join(dir, "prywalk.pb.gz"))
	}, target.Expect)
}
