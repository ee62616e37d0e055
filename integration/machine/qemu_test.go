// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"strings"
	"testing"
)

func TestOnlyAMachineWithoutAFailureIsLeftToItsRemedy(t *testing.T) {
	const begun = "@@ up\r\n@@ job inside\r\n=== RUN   TestOne\r\n"
	silent := errors.New("it has written nothing for 15m0s")
	for _, c := range []struct {
		text, remedy string
		cause        error
		inAll        bool // whether it is left; elsewhere none is
	}{
		{begun, "make it", errTimeIsOver, true},
		{begun + "--- PASS: TestOne (1.00s)\r\n=== RUN   TestTwo\r\n", "make it", errTimeIsOver, true},
		{begun + "\r\n@@ end inside ok 1.0\r\n@@ job second\r\n", "make it", errTimeIsOver, true},
		{begun, "", errTimeIsOver, false},
		{begun, "make it", silent, false},
		{begun + "--- FAIL: TestOne (1.00s)\r\n", "make it", errTimeIsOver, false},
		{begun + "    --- FAIL: TestOne/sub (1.00s)\r\n", "make it", errTimeIsOver, false},
		{begun + "panic: it\r\n", "make it", errTimeIsOver, false},
		{begun + "\r\n@@ end inside exit-status-1 1.0\r\n@@ job second\r\n", "make it", errTimeIsOver, false},
		{"it boots\r\n", "make it", errTimeIsOver, false},
	} {
		lines := 0
		console := listen(strings.NewReader(c.text), func() { lines++ })
		for tests, want := range map[string]bool{"all": c.inAll, "": false} {
			t.Setenv("PRYWALK_TESTS", tests)
			if got := (&Machine{Remedy: c.remedy}).isLeft(console, c.cause); got != want {
				t.Errorf("PRYWALK_TESTS=%s, %q, %v: left %v, want %v", tests, c.text, c.cause, got, want)
			}
		}
		if want := strings.Count(c.text, "\n"); lines != want || !strings.HasSuffix(c.text, console.last+"\r\n") {
			t.Errorf("%q: %d lines, the last %q, want %d", c.text, lines, console.last, want)
		}
	}
}

func TestOutputOfTestsThatPassedIsLeftOut(t *testing.T) {
	const failed = "=== RUN   TestTwo\n=== RUN   TestTwo/a\n    why\n    --- FAIL: TestTwo/a (0.00s)\n" +
		"--- FAIL: TestTwo (1.00s)\n"
	const paused = "=== RUN   TestOne\n=== PAUSE TestOne\n"
	for text, want := range map[string]string{
		failed:                   failed,
		"--- PASS: TestOne ()\n": "--- PASS: TestOne ()\n",
		"=== RUN   TestOne\n    seen\n    --- PASS: TestOne/a ()\n--- PASS: TestOne ()\n" + failed + "FAIL\n": failed +
			"FAIL\n",
		paused + failed + "=== CONT  TestOne\n--- SKIP: TestOne ()\n": paused + failed,
		failed + "=== RUN   TestThree\npanic: it\n":                   failed + "=== RUN   TestThree\npanic: it\n",
	} {
		if got := strings.Join(unpassed(strings.Split(text, "\n")), "\n"); got != want {
			t.Errorf("of %q are left %q, want %q", text, got, want)
		}
	}
}
