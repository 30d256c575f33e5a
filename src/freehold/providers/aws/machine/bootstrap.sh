# Runs on the machine, each time it boots, as bootcmd of cloud-init's network stage, under /bin/sh.
# The lines before this one set SECRET (the names are SECRET-0, SECRET-1 ...), CHUNKS, LENGTH and SHA256 (of the
# compressed data). It prints no part of the data: what it prints is in /var/log/cloud-init-output.log.
umask 077
PATH=$PATH:/usr/local/bin:/snap/bin
store=${FREEHOLD_STORE:-/var/lib/freehold/bootstrap}
data=$store/$SHA256
tries=30

say() { echo "freehold bootstrap: $*" >&2; }

fail() {
  say "$*. This machine does not join its cluster: correct that, and replace the machine"
  rm -rf "$part"
  exit 1
}

# Runs a command until it succeeds: after a start, network, credentials and permissions may take a minute.
persist() {
  try=1
  until "$@" 2>"$part/error"; do
    [ "$try" -lt "$tries" ] || return 1
    [ "$try" -gt 1 ] || say "tried again until it succeeds: $(tail -n 1 "$part/error")"
    sleep "$([ "$try" -lt 10 ] && echo "$try" || echo 10)"
    try=$((try + 1))
  done
}

# The region is the machine's own, whatever is configured on it.
ask_region() {
  for host in 169.254.169.254 '[fd00:ec2::254]'; do
    token=$(curl -gsS -f -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "http://$host/latest/api/token") ||
      continue
    curl -gsS -f -m 5 -H "X-aws-ec2-metadata-token: $token" "http://$host/latest/meta-data/placement/region" \
      >"$part/region" && [ -s "$part/region" ] && return 0
  done
  return 1
}

fetch_chunk() {
  aws secretsmanager get-secret-value --region "$region" --secret-id "$SECRET-$1" --query SecretBinary --output text \
    >"$part/text" && base64 -d "$part/text" >"$part/$1" && [ -s "$part/$1" ]
}

fetch() {
  mkdir -p "$store" && part=$(mktemp -d "$store/part.XXXXXX") || fail "cannot write to $store"
  command -v aws >/dev/null || fail "the image has no AWS CLI (aws), which fetches its bootstrap data"
  persist ask_region || fail "the instance metadata service does not say the region: $(tail -n 1 "$part/error")"
  region=$(cat "$part/region")
  chunk=0
  : >"$part/whole"
  while [ "$chunk" -lt "$CHUNKS" ]; do
    persist fetch_chunk "$chunk" ||
      fail "cannot read secret $SECRET-$chunk in $region: $(tail -n 1 "$part/error"). The instance profile must allow \
secretsmanager:GetSecretValue and DeleteSecret for aws.cluster.x-k8s.io/*"
    cat "$part/$chunk" >>"$part/whole"
    chunk=$((chunk + 1))
  done
  found=$(wc -c <"$part/whole" | tr -d ' ')
  [ "$found" = "$LENGTH" ] || fail "the secrets $SECRET-* have $found bytes in place of $LENGTH"
  echo "$SHA256  $part/whole" | sha256sum -c - >/dev/null 2>&1 || fail "the secrets $SECRET-* have another SHA-256"
  gzip -dc <"$part/whole" >"$part/data" && mv "$part/data" "$data" || fail "cannot decompress the data to $data"
  chunk=0
  while [ "$chunk" -lt "$CHUNKS" ]; do
    aws secretsmanager delete-secret --region "$region" --secret-id "$SECRET-$chunk" --force-delete-without-recovery \
      >/dev/null 2>"$part/error" ||
      say "secret $SECRET-$chunk is not deleted: $(tail -n 1 "$part/error"). Freehold deletes it later"
    chunk=$((chunk + 1))
  done
  rm -rf "$part"
}

frequency=PER_ALWAYS
if [ ! -s "$data" ]; then
  fetch
  frequency=PER_INSTANCE
fi

# cloud-init now takes the data as this machine's user data, as its own network stage does (main_init in
# cloudinit/cmd/main.py): parts, templates, and the modules of this stage. The later stages read from disk what it made
# of them, and what has run once for this machine does not run again. Neither a restart nor an include is needed.
# shellcheck disable=SC2046 # a first line may have options
$(sed -n '1s/^#! *//p' "$(command -v cloud-init)") - "$data" "$frequency" <<'PYTHON' || {
import sys
from cloudinit import settings, stages

try:
    from cloudinit.config.modules import Modules
except ImportError:
    from cloudinit.stages import Modules

with open(sys.argv[1], "rb") as file:
    data = file.read()
init = stages.Init()
init.read_cfg()
init.fetch(existing="trust")
init.datasource.userdata_raw = data
init.datasource.userdata = None
init.update()
init.consume_data(getattr(settings, sys.argv[2]))
_, failures = Modules(init).run_section("cloud_init_modules")
sys.exit(1 if failures else 0)
PYTHON
  say "cloud-init could not run all of the data: see /var/log/cloud-init.log"
  exit 1
}
