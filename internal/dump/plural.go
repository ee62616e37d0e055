// SPDX-License-Identifier: Apache-2.0

package dump

import "prywalk/internal/tabular"

func count(n int, noun string) string { return tabular.Plural(int64(n), noun) }

func waiting(n int, noun string) string { return count(n, noun) + pluralForm(n, " waits", " wait") }

func pluralForm(n int, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}
