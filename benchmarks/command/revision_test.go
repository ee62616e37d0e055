// SPDX-License-Identifier: Apache-2.0

package command

import "testing"

func TestFirstLineIsEmptyWhereTheCommandFails(t *testing.T) {
	if got := FirstLine("printf", "one\\ntwo\\n"); got != "one" {
		t.Errorf("%q", got)
	}
	if got := FirstLine("false"); got != "" {
		t.Errorf("%q", got)
	}
}
