# Text, sorting, closures and recursion, for ever.
use strict;
no warnings 'recursion';
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }

sub words {
	my %seen = map { sprintf("%x-%d", $_ * 7919 % 10007, $_) => $_ } 0 .. 2000;
	my @order = sort { substr($a, -1) cmp substr($b, -1) or $a cmp $b } keys %seen;
	my $n = 0;
	for my $w (@order) {
		$n += length $w if $w =~ /(a+|b)+.*9/;
		(my $x = $w) =~ s/([0-4])/<$1>/g;
		$n += tr/0-9// for $x;
	}
	return $n + length join ',', @order;
}

my $sink = 0;
for (;;) { $sink += words() + fib(15) + eval { die "now\n" if $sink; 1 } }

# SPDX-License-Identifier: Apache-2.0
