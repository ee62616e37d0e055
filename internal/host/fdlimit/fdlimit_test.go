// SPDX-License-Identifier: Apache-2.0

package fdlimit_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"prywalk/internal/host/fdlimit"
	"prywalk/internal/testtargets/bounded"
)

// printLimit makes this test program print the limit that it was started with.
const printLimit = "OPENFILES_PRINT_LIMIT"

func TestMain(m *testing.M) {
	if os.Getenv(printLimit) != "" {
		fmt.Println(fdlimit.AtStart())
		return
	}
	os.Exit(m.Run())
}

// The tests are a package of their own, so that package fdlimit itself imports nothing.
func TestTheLimitIsTheOneThatTheProcessWasStartedWith(t *testing.T) {
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil || own.Max < 100 {
		t.Fatalf("own limit %+v, %v", own, err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, soft := range []uint64{64, own.Max} {
		c := exec.Command("sh", "-c", fmt.Sprintf("ulimit -Sn %d && exec %q", soft, self))
		c.Env = append(os.Environ(), printLimit+"=1")
		out, err := bounded.AllOutput(c)
		if want := fmt.Sprintln(fdlimit.Limit{soft, own.Max}, true); err != nil || string(out) != want {
			t.Errorf("%q, %v; want %q", out, err, want)
		}
	}
}
