// Variables that Kubernetes sets in every pod for each Service of its namespace. A Service named plantstore makes
// PLANTSTORE_PORT=tcp://10.96.0.12:8080 of them, which is no setting of ours.

/** The variables without those of Services whose name begins as ours do. */
export function dropKubernetesServiceLinks(
  variables: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const services = [...variables.keys()]
    .filter((name) => name.endsWith("_SERVICE_HOST"))
    .map((name) => name.slice(0, -"_SERVICE_HOST".length))
    .filter((service) => variables.has(`${service}_SERVICE_PORT`));
  return new Map(
    [...variables].filter(
      ([name, value]) =>
        !services.some(
          (service) => name.startsWith(`${service}_`) && isLink(name.slice(service.length + 1), value),
        ),
    ),
  );
}

/** By the names that the kubelet gives (Kubernetes documentation, "Service", "Environment variables"). */
function isLink(rest: string, value: string): boolean {
  if (/^SERVICE_(?:HOST|PORT(?:_\w+)?)$/.test(rest)) return true;
  if (/^PORT_\d+_(?:TCP|UDP|SCTP)_(?:PROTO|PORT|ADDR)$/.test(rest)) return true;
  // Where a pod sets PLANTSTORE_PORT itself, Kubernetes leaves it alone.
  return /^PORT(?:_\d+_(?:TCP|UDP|SCTP))?$/.test(rest) && /^(?:tcp|udp|sctp):\/\//.test(value);
}
