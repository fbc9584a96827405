"""What goes wrong around environments, repositories and servers."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class EnvironmentUnknown(NotFound):
    """No environment has that name."""

    code = "environment_unknown"
    title = "Unknown environment"


class RepositoryUnknown(NotFound):
    """No repository has that name."""

    code = "repository_unknown"
    title = "Unknown repository"


class ServerUnknown(NotFound):
    """No server has that name."""

    code = "server_unknown"
    title = "Unknown server"


class ServerNotActive(Conflict):
    """The server is being checked, was refused or is retired."""

    code = "server_not_active"
    title = "The server is not active"
    hint = "A refused server can be checked again; a retired one is gone for good."


class NameTaken(Conflict):
    """Another environment, repository or server has that name."""

    code = "name_taken"
    title = "The name is taken"


class AddressTaken(Conflict):
    """Another server that is not retired has that address."""

    code = "address_taken"
    title = "The address is taken"
    hint = "Retire that server first, or give this one its own gRPC address."


class PathTaken(Conflict):
    """Another repository is that directory, lies in it, or holds it."""

    code = "path_taken"
    title = "The directory is taken"
    hint = "Give every repository a directory of its own: two configurations cannot share one."


class BadAddress(Invalid):
    """An address that is not `host:port`, or a metrics URL that is none."""

    code = "bad_address"
    title = "The address is not valid"
    hint = "Write host:port, for example triton-1:8001; metrics also as http://host:port/metrics."


class BadPath(Invalid):
    """A repository path that cannot be used."""

    code = "bad_path"
    title = "The directory's path is not valid"
    hint = "Give an absolute path without '..', as this machine sees it."


class BadRank(Invalid):
    """An environment's place from left to right is out of range."""

    code = "bad_rank"
    title = "The environment's rank is not valid"


class RepositoryKindUnknown(Invalid):
    """A kind of repository that this release does not have."""

    code = "repository_kind_unknown"
    title = "Unknown kind of repository"
    hint = "Use 'posix' for a shared directory, 's3' for a bucket, 'inline' where workers and servers share nothing."


class RepositoryElsewhere(Invalid):
    """The repository belongs to another environment than the server."""

    code = "repository_elsewhere"
    title = "The repository belongs to another environment"
    hint = "One repository serves one environment: choose one of this environment, or add one."


class ControlKeyIncomplete(Invalid):
    """A control key without its value, or the other way round."""

    code = "control_key_incomplete"
    title = "The control key is incomplete"
    hint = "Give both the key and its value, or neither."


class ControlValueSealed(ControlPlaneError):
    """The stored control value cannot be opened with this installation's secret key."""

    code = "control_value_sealed"
    title = "The stored control key cannot be read"
    hint = "CONCH_SECRET_KEY has changed since it was stored: give the server's control key again."


class RepositoryMissing(ControlPlaneError):
    """The repository's directory is not there."""

    code = "repository_missing"
    http_status = 422
    title = "The repository's directory is not there"
    hint = "Create or mount it on the machine of every Conch worker, at this path."


class RepositoryNotWritable(ControlPlaneError):
    """Conch may not write into the repository or beside it."""

    code = "repository_not_writable"
    http_status = 422
    title = "The repository cannot be written"
    hint = "Workers must be able to write in the directory and in the one that holds it."


class BucketMissing(RepositoryMissing):
    """The bucket is not there, or an object in it went away."""

    code = "bucket_missing"
    title = "The bucket or the object is not there"
    hint = "Check the bucket's name, endpoint and region."


class BucketRefused(RepositoryNotWritable):
    """The key may not do that in the bucket."""

    code = "bucket_refused"
    title = "The bucket refused it"
    hint = "The key in CONCH_S3_ACCESS_KEY_ID needs to list, read, write and delete below the prefix."


class RepositoryOnOwnMount(RepositoryNotWritable):
    """The directory is itself a mount point: nothing beside it lies on the same file system."""

    code = "repository_on_own_mount"
    title = "The repository is a mount point"
    hint = "Use a directory below the mount point, so that files can be staged beside it on the same file system."


class RepositoryDiffers(ControlPlaneError):
    """The server reads its models from somewhere else."""

    code = "repository_differs"
    http_status = 422
    title = "The server reads another repository"
    hint = "Start the server with --model-repository on this directory, or choose the repository that it reads."


class RepositoryFull(ControlPlaneError):
    """There is no room for the version; nothing was left behind."""

    code = "repository_full"
    http_status = 507
    title = "The repository is full"
    hint = "Free some space on its file system, then start again."


class RepositoryBroken(ControlPlaneError):
    """The operating system refused a read or a write in the repository."""

    code = "repository_broken"
    http_status = 503
    retryable = True
    title = "The repository could not be read or written"


class UploadDamaged(RepositoryBroken):
    """What was read back from the bucket is not what was sent; it was taken away again."""

    code = "upload_damaged"
    title = "The upload was damaged on its way"


class InlineTooLarge(ControlPlaneError):
    """The versions are larger than one load call can carry."""

    code = "inline_too_large"
    http_status = 413
    title = "Too large for an inline load"
    hint = "Give these servers a repository on a shared directory, or let go of the standby first."


class VersionDiffers(Conflict):
    """The repository holds other content under that version's number."""

    code = "version_differs"
    title = "Another version lies there"
    hint = "Conch never overwrites a version: move that directory away, or use another number."


class SharedFileDiffers(Conflict):
    """A file that all versions share has other content in this version."""

    code = "shared_file_differs"
    title = "A shared file differs"
    hint = "Put the file into the version directory: beside config.pbtxt it would change the other versions too."


class ArtifactDamaged(ControlPlaneError):
    """The stored bytes are no longer those that were received."""

    code = "artifact_damaged"
    title = "The stored version is damaged"
    hint = "Restore the artifacts directory from a backup, or upload the version again."


class VersionNotPublished(ControlPlaneError):
    """The version is not in the repository, so no shadow can point at it."""

    code = "version_not_published"
    http_status = 409
    title = "The version is not in the repository"


class ServerNotAsked(ControlPlaneError):
    """An observation took longer than any server may."""

    code = "observation_late"
    http_status = 503
    retryable = True
    title = "The observation did not end in time"
