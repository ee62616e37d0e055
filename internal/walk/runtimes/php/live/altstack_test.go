// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

// execute_ex may have its register in the signal's context only.
func TestCallsAreFoundFromASignalHandlerWithAStackOfItsOwn(t *testing.T) {
	php, err := exec.LookPath("php")
	if err != nil {
		t.Fatal("no php; run scripts/setup-tests.sh")
	}
	for _, below := range []string{"64", "128", "0"} {
		cmd := exec.Command(php, "-n", "-dextension=ffi", "-dextension=posix", "-dffi.enable=1",
			filepath.Join("testdata", "altstack.php"), below)
		testtargets.Ready(t, cmd)
		pid := cmd.Process.Pid
		var th *stacks.Thread
		waitFor(t, "a handler that waits", func() bool {
			th = sample(t, open(t, pid), pid)
			return th.Wait == "pause"
		})
		var got []string
		for _, f := range managedFrames(th) {
			got = append(got, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
		const want = "posix_kill:0 inner:22 {closure}:23 array_map:0 outer:23 altstack.php:25"
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s KiB: %s\n%s", below, s, text(th))
		}
	}
}
