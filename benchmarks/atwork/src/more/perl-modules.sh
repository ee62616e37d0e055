# Debian: perl
exec perl -MDigest::SHA=sha256_hex -MStorable=dclone -MTime::Piece -MEncode -e 'while(1){my %h=map{$_=>[sha256_hex($_),$_]}1..2000;my $c=dclone(\%h);my $s=join",",map{encode("UTF-16",$c->{$_}[0])}sort keys %$c;localtime->strftime("%F");$s=~s/(\d)([a-f])/$2$1/g}'

# SPDX-License-Identifier: Apache-2.0
