// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"regexp"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
)

func TestAProcOfAnotherPidNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	needRoot(t, "make a pid namespace")
	for _, args := range [][]string{
		{"record", "-d", "1", "-p", "1"}, {"record", "--", "true"}, {"dump", "-p", "1"}, {"top", "-p", "1"},
		{"doctor", "-p", "1"},
	} {
		r := command{args: append([]string{"--pid", "--fork", binary}, args...), exe: "unshare"}.run(t)
		code := 1
		if args[1] == "--" {
			code = 125
		}
		r.must(t, code).oneLine(t, "/proc is that of another pid namespace", "mount -t proc proc /proc")
	}
}

// needUserNamespaces is for one user, nil for that of the tests: root may make them where others may not.
func needUserNamespaces(t *testing.T, user *testtargets.User) {
	t.Helper()
	r := command{exe: testtargets.NeedProgram(t, "unshare"), args: []string{"-Ur", "true"}, user: user}.run(t)
	if r.code != 0 {
		t.Log(r.stderr)
	}
	testtargets.Need(t, r.code == 0, "user namespaces", "sudo sysctl user.max_user_namespaces=1000")
}

func TestRootOfAUserNamespaceRecordsWhatIsInIt(t *testing.T) {
	t.Parallel()
	needUserNamespaces(t, nil)
	target := testtargets.Run(t, "c", testtargets.Options{})
	command{exe: "unshare", args: []string{"-Ur", binary, "record", "-d", "1", "-p", strconv.Itoa(target.PID)}}.run(t).
		must(t, 3).oneLine(t, "another user namespace")
	r := command{exe: "unshare", args: []string{"-Ur", binary, "record", "-o", "out.pb.gz", "--", "sh", "-c",
		"i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"}}.run(t)
	complete := regexp.MustCompile("100% of (sampled )?CPU time with complete stacks")
	if r.must(t, 0); !complete.MatchString(r.stderr) {
		t.Errorf("no %q in the closing line: %s", complete, clip(r.stderr))
	}
}
